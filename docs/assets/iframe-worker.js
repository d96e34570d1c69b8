// The search: what the theme's script asks of its worker goes through here.

// A word counts more as it stands than as the beginning of another, softmax before Softmax2d; there
// may be one or several of it; two may be one name: cross entropy; and the last part of a name counts
// most: nn.Linear. A query with operators of its own stays as it is.
const asked = query => {
  if (!query.trim() || /["~^*:]|(^|\s)[+-]/.test(query)) return query;
  const other = word => word.endsWith("s") ? word.slice(0, -1) : `${word}s`;
  const words = [], terms = [];
  for (const name of query.trim().split(/\s+/)) {
    const parts = name.split(".").filter(part => part);
    const last = parts.pop() ?? "";
    for (const part of parts) terms.push(part === "F" ? "functional^2" : `${part}^2`);
    terms.push(last.length < 3 ? `${last}^1` : `${last}^24 ${other(last)}^8 ${last}`);
    words.push(last);
  }
  if (words.length > 1) terms.push(`${words.join("_")}^24`, words.join(""));
  return terms.join(" ");
};
const QUERY = 2; // a type of message of the theme
const told = message => message.type === QUERY ? { ...message, data: asked(message.data) } : message;

if (location.protocol === "file:") {
  // Browsers start no worker for a page that is opened as a file, so the worker's script runs in a
  // hidden frame. (The theme's offline plugin would load such a script from the network.)
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      this.frame = frame;
      this.inside = frame.contentWindow;
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise(resolve => {
        const script = frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = resolve;
        frame.contentDocument.body.append(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data: told(data) })));
    }
    terminate() {
      this.frame.remove();
    }
  };
} else {
  window.Worker = class extends Worker {
    postMessage(message) {
      super.postMessage(told(message));
    }
  };
}
