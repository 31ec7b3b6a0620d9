// Starts `python -m texpr lsp` and hands it the documents of texpr, and those of Python.

"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

/** The command that runs the server: the Python of the settings. */
function serverOptions() {
  const python = vscode.workspace.getConfiguration("texpr").get("python");
  return { command: python, args: ["-m", "texpr", "lsp"] };
}

/** The documents that the server is told about; a scheme is left open, so unsaved ones count. */
function documentSelector() {
  const selector = [{ language: "texpr" }];
  if (vscode.workspace.getConfiguration("texpr").get("inPython")) {
    selector.push({ language: "python" });
  }
  return selector;
}

async function start() {
  client = new LanguageClient("texpr", "texpr", serverOptions(), { documentSelector: documentSelector() });
  try {
    await client.start();
  } catch (error) {
    const { command, args } = serverOptions();
    vscode.window.showErrorMessage(
      `texpr: \`${command} ${args.join(" ")}\` did not start (${error.message}). ` +
        'Set `texpr.python` to a Python with `pip install "texpr[lsp]"`.',
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running !== undefined && running.isRunning()) {
    await running.stop();
  }
}

async function activate(context) {
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("texpr")) {
        await stop();
        await start();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
