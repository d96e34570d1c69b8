// NVRTC's functions: a text in CUDA C is compiled by the system's compiler with here.h. The "cubin" is a shared object's bytes.
// Kernels look for races in shared memory where RUSHLIGHT_STANDIN_RACES is set: some times slower.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "declared.h"

namespace {

using std::string;

string whole_file(const string& path) {
  std::ifstream file(path, std::ios::binary);
  return string(std::istreambuf_iterator<char>(file), {});
}

void write_file(const string& path, const string& content) { std::ofstream(path, std::ios::binary) << content; }

string folder() {  // of this library, where here.h lies as well
  Dl_info found;
  dladdr(reinterpret_cast<void*>(&folder), &found);
  const string path = found.dli_fname;
  return path.substr(0, path.rfind('/'));
}

// What a command says; false if it fails.
bool run(const string& command, string* said) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return false;
  char part[4096];
  for (size_t n; (n = fread(part, 1, sizeof part, pipe)) > 0;) said->append(part, n);
  return pclose(pipe) == 0;
}

string compiler() {
  const char* chosen = std::getenv("CXX");
  return chosen && *chosen ? chosen : "c++";
}

string flags() {
  const char* races = std::getenv("RUSHLIGHT_STANDIN_RACES");
  return string(STANDIN_FLAGS) + (races && *races ? " -fsanitize=thread -DHERE_RACES" : "");
}

string key_of(const string& content) {
  uint64_t a = 14695981039346656037u, b = 88172645463325252u;
  for (const unsigned char c : content) a = (a ^ c) * 1099511628211u, b = (b ^ c) * 6364136223846793005u + 1;
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
  return text;
}

// The preprocessed text with shared memory of a size that the launch says, and an entry for each kernel.
string with_entries(const string& text) {
  static const std::regex dynamic(R"(extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w ]+?)\s+(\w+)\[\s*\];)");
  static const std::regex kernel(
      R"(__global__\s+(?:void\s+)?(?:__launch_bounds__\s*\(((?:[^()]|\([^()]*\))*)\)\s*)?(?:void\s+)?(\w+)\s*\()");
  const string body = std::regex_replace(text, dynamic, "$1* const $2 = ($1*)here::dynamic;");
  string entries = "\n";
  for (std::sregex_iterator found(body.begin(), body.end(), kernel), end; found != end; ++found) {
    entries += "HERE_KERNEL(" + (*found)[2].str() + ", " + (*found)[1].str() + ")\n";
  }
  return body + entries;
}

// Options that change nothing here; others of NVRTC's are refused, as the real one refuses what it does not know.
bool is_known(const string& option) {
  for (const char* known :
       {"--gpu-architecture=", "-arch=", "--std=c++", "-std=c++", "--fmad=", "--device-as-default-execution-space",
        "-default-device", "--restrict", "--split-compile=", "--extra-device-vectorization", "-w", "-lineinfo",
        "--generate-line-info", "--minimal", "--no-source-include", "--disable-warnings"}) {
    if (option.rfind(known, 0) == 0) return true;
  }
  return false;
}

}  // namespace

struct _nvrtcProgram {
  string text, name, log, binary;
  bool virtual_architecture = false;
};

namespace {

// Where the object is kept is `path`; a failure's words are in the log.
bool compile(nvrtcProgram program, const string& defines, const string& path) {
  char place[] = "/tmp/standin.XXXXXX";
  if (!mkdtemp(place)) return false;
  const string at = place, before = at + "/text.cu", after = at + "/text.cpp", object = at + "/text.so";
  write_file(before, "# 1 \"" + program->name + "\"\n" + program->text);
  bool works = run(compiler() + " -E -x c++ -std=c++17 -w -D__CUDACC__ -D__CUDACC_RTC__ -DHERE=1 -D__CUDA_ARCH__=900 " + defines +
                       " " + before + " -o " + after,
                   &program->log);
  if (works) write_file(after, with_entries(whole_file(after)));
  works = works && run(compiler() + " " + flags() + " -shared -nostdlib -include " + folder() + "/here.h -x c++ " + after + " -o " +
                           object + " -lm -lc -lgcc",
                       &program->log);
  if (works) program->binary = whole_file(object);
  if (works && !path.empty()) {  // whole or not at all
    const string part = path + "." + std::to_string(getpid());
    write_file(part, program->binary);
    rename(part.c_str(), path.c_str());
  }
  for (const string& file : {before, after, object}) unlink(file.c_str());
  rmdir(place);
  return works;
}

nvrtcResult give(const string& from, size_t* size, char* to) {
  if (size) *size = from.size();
  if (to) std::memcpy(to, from.data(), from.size());
  return NVRTC_SUCCESS;
}

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 13, *minor = 0;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 3;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int* all) {
  all[0] = 75, all[1] = 80, all[2] = 90;
  return NVRTC_SUCCESS;
}

const char* nvrtcGetErrorString(nvrtcResult code) {
  static const char* const names[] = {"NVRTC_SUCCESS",
                                      "NVRTC_ERROR_OUT_OF_MEMORY",
                                      "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                      "NVRTC_ERROR_INVALID_INPUT",
                                      "NVRTC_ERROR_INVALID_PROGRAM",
                                      "NVRTC_ERROR_INVALID_OPTION",
                                      "NVRTC_ERROR_COMPILATION"};
  return code >= 0 && code <= 6 ? names[code] : "NVRTC_ERROR unknown";
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char* name, int headers, const char* const*,
                               const char* const*) {
  if (!program || !text || headers != 0) return NVRTC_ERROR_INVALID_INPUT;
  *program = new _nvrtcProgram{text, name && *name ? name : "default_program", "", "", false};
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (!program || !*program) return NVRTC_ERROR_INVALID_PROGRAM;
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
  if (const int code = standin::planned("nvrtcCompileProgram")) return static_cast<nvrtcResult>(code);
  string defines;
  for (int i = 0; i < count; ++i) {
    const string option = options[i];
    if (option.rfind("-D", 0) == 0) defines += " '" + option + "'";
    else if (option.rfind("--define-macro=", 0) == 0) defines += " '-D" + option.substr(15) + "'";
    else if (!is_known(option)) {
      program->log = "nvrtc: error: invalid value or unknown option " + option;
      return NVRTC_ERROR_INVALID_OPTION;
    }
    if (option.find("=compute_") != string::npos) program->virtual_architecture = true;
  }
  const char* kept = std::getenv("RUSHLIGHT_STANDIN_CACHE");
  string path;
  if (kept && *kept) {
    static const string header = whole_file(folder() + "/here.h");
    path = string(kept) + "/" + key_of(header + flags() + defines + "\n" + program->text) + ".so";
    program->binary = whole_file(path);
  }
  program->log.clear();
  if (program->binary.empty() && !compile(program, defines, path)) return NVRTC_ERROR_COMPILATION;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t* size) {
  return give(p->virtual_architecture ? "" : p->binary, size, nullptr);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char* to) { return give(p->virtual_architecture ? "" : p->binary, nullptr, to); }
nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t* size) { return give(p->binary, size, nullptr); }
nvrtcResult nvrtcGetPTX(nvrtcProgram p, char* to) { return give(p->binary, nullptr, to); }
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t* size) {
  *size = p->log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char* to) {
  std::memcpy(to, p->log.c_str(), p->log.size() + 1);
  return NVRTC_SUCCESS;
}

}  // extern "C"
