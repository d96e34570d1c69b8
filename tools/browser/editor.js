// The playground's editor: CodeMirror, for Python. tools/browser_site.py bundles this file into the
// site's assets/run/editor.js, which docs/assets/run/playground.js imports.
//
// The editor lives in a shadow root: there its styles are style sheets made by script, which a
// content security policy without 'unsafe-inline' allows. Colours are variables of site.css.

import { indentWithTab, isolateHistory } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { EditorState, Prec, StateEffect, StateField, Transaction } from "@codemirror/state";
import { Decoration, EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";

const colours = HighlightStyle.define([
  { tag: [tags.comment, tags.meta], color: "var(--run-comment)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--run-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--run-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--run-number)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: "var(--run-call)" },
  { tag: [tags.definition(tags.className), tags.className], color: "var(--run-call)", fontWeight: "600" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--run-ink)", backgroundColor: "var(--run-paper)" },
  "&.cm-focused": { outline: "2px solid var(--run-focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--md-code-font-family)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--run-ink)", padding: "0.5rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--run-ink)" },
  ".cm-gutters": { color: "var(--run-soft)", backgroundColor: "transparent", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--run-line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--run-selected)" },
  ".cm-panels, .cm-tooltip": { color: "var(--run-ink)", backgroundColor: "var(--run-panel)", border: "0" },
  ".cm-tooltip": { border: "1px solid var(--run-edge)" },
  ".cm-textfield": { color: "inherit", backgroundColor: "var(--run-paper)", borderColor: "var(--run-edge)" },
  ".cm-button": { color: "inherit", backgroundImage: "none", borderColor: "var(--run-edge)" },
  ".cm-wrong": { backgroundColor: "var(--run-wrong) !important" },
});

const mark = StateEffect.define(); // the start of the line that is wrong, or null
const wrong = Decoration.line({ class: "cm-wrong" });
const marked = StateField.define({
  create: () => Decoration.none,
  update(lines, change) {
    for (const effect of change.effects) {
      if (effect.is(mark)) return effect.value === null ? Decoration.none : Decoration.set(wrong.range(effect.value));
    }
    return lines.map(change.changes);
  },
  provide: field => EditorView.decorations.from(field),
});

// Text typed over several lines. The browser would keep their colours in a style of the new text,
// which the policy forbids.
const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to } = view.state.selection.main;
    if (event.inputType !== "insertText" || view.state.doc.lineAt(from).to >= to) return false;
    const change = () => view.state.replaceSelection(event.data);
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some(handler => handler(view, from, to, event.data, change))) view.dispatch(change());
    return true;
  },
});

/** An editor in the element `parent`, which is its label and its place. */
export class Editor {
  #view;

  /**
   * @param {HTMLElement} parent
   * @param {{label: string, run: () => void, changed: (text: string) => void}} options
   */
  constructor(parent, { label, run, changed }) {
    const root = parent.attachShadow({ mode: "open" });
    const asked = { key: "Mod-Enter", run: () => { run(); return true; } };
    this.#view = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        extensions: [
          Prec.highest(keymap.of([asked])),
          basicSetup, python(), indentUnit.of("    "), keymap.of([indentWithTab]),
          syntaxHighlighting(colours), theme, marked, typedOver,
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
          EditorView.updateListener.of(update => { if (update.docChanged) changed(this.text); }),
        ],
      }),
    });
  }

  get text() {
    return this.#view.state.doc.toString();
  }

  /** The whole text; undo brings back the one before. */
  set text(insert) {
    const { state } = this.#view;
    const alone = [isolateHistory.of("full")]; // one step of undo, however soon after another
    if (!state.doc.length) alone.push(Transaction.addToHistory.of(false));
    const changes = { from: 0, to: state.doc.length, insert };
    this.#view.dispatch({ changes, annotations: alone, selection: { anchor: 0 }, scrollIntoView: true });
  }

  focus() {
    this.#view.focus();
  }

  /** Mark a line as wrong, with what is wrong there; without a line, none. */
  wrong(number, message) {
    const { state } = this.#view;
    if (!number || number > state.doc.lines) {
      this.#view.dispatch({ effects: mark.of(null) }, setDiagnostics(state, []));
      return;
    }
    const { from, to } = state.doc.line(number);
    const effects = [mark.of(from), EditorView.scrollIntoView(from, { y: "nearest" })];
    this.#view.dispatch({ effects }, setDiagnostics(state, [{ from, to, severity: "error", message }]));
  }
}
