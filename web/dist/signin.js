// src/lib/dom.ts
var attributeNames = /* @__PURE__ */ new Set(["role", "for", "part", "list"]);
function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name2, value] of Object.entries(props ?? {})) {
    if (value === void 0 || value === null || value === false && attributeNames.has(name2)) continue;
    if (name2 === "class") node.className = String(value);
    else if (name2 === "on") listen(node, value);
    else if (name2.includes("-") || attributeNames.has(name2)) node.setAttribute(name2, String(value));
    else node[name2] = value;
  }
  append(node, children);
  return node;
}
function listen(node, handlers) {
  for (const [type, handler] of Object.entries(handlers)) {
    if (handler) node.addEventListener(type, handler);
  }
}
function append(node, children) {
  if (children === null || children === void 0 || children === false) return;
  if (typeof children === "string" || typeof children === "number") node.appendChild(document.createTextNode(String(children)));
  else if (children instanceof Node) node.appendChild(children);
  else for (const child of children) append(node, child);
}
function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
}
function bdi(text) {
  return el("bdi", null, text);
}
var made = /* @__PURE__ */ new Map();
function sheet(text) {
  let found = made.get(text);
  if (!found) {
    found = new CSSStyleSheet();
    found.replaceSync(text);
    made.set(text, found);
  }
  return found;
}
function shadow(host, ...css) {
  const root = host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = css.map(sheet);
  return root;
}

// src/lib/json.ts
var exact = JSON;
function parseExact(text) {
  const reviver = (_key, value, context) => {
    if (typeof value !== "number" || context?.source === void 0 || String(value) === context.source || !exact.rawJSON) return value;
    return exact.rawJSON(context.source);
  };
  return JSON.parse(text, reviver);
}

// src/lib/en.ts
var en = {
  "product": "Parley",
  "loading": "Loading",
  "error.status": "Parley answered with an error ({status}).",
  "error.unreachable": "Parley did not answer. Nothing is lost: what you typed is still here. Try again in a moment.",
  "error.unexpected": "Something went wrong on this page. Reload it: what you typed is kept.",
  "error.summary": "There is a problem",
  "connection.lost": "Connection to Parley lost, trying again",
  "connection.back": "Connected to Parley again",
  "said.asks": "{server} asks: {message}",
  "said.ended": "{tool} on {server} has ended",
  "said.approval": "Your permission is needed: {tool} on {server}",
  "said.notify": "{server} asks you something",
  "said.notify.approval": "Parley needs your permission",
  "who.local": "this computer",
  "sign-in.as": "Signed in as {account}",
  "sign-in.button": "Sign in to {server}",
  "sign-in.where": "To sign in to {server} you go to {site}, in a new tab. Check that this is where you have your account.",
  "sign-in.scopes": "It is asked to allow: {scopes}",
  "sign-in.go": "Go to {site}",
  "server-sign-in.title": "Signing in to a server",
  "server-sign-in.busy": "One moment …",
  "server-sign-in.empty": "There is no sign-in in this address. Go back to Parley and sign in from there.",
  "server-sign-in.out": "This browser is not signed in to Parley. Sign in to Parley here, or go back to the browser in which you began; then try again. Nothing is lost yet.",
  "server-sign-in.again": "Try again",
  "server-sign-in.denied": "{server} was not allowed to act for you. Nothing has changed.",
  "server-sign-in.done": "You are signed in to {server}.",
  "server-sign-in.done.as": "You are signed in to {server} as {account}.",
  "server-sign-in.resumed": { one: "The call that waited for it goes on.", other: "{n} calls that waited for it go on." },
  "server-sign-in.missing": "Not everything was allowed; missing: {scopes}.",
  "server-sign-in.other": "You came back as {account}, and you were signed in to {server} as {before}. Which one shall it be from now on?",
  "server-sign-in.keep": "Keep the one before",
  "server-sign-in.replace": "Use the new one",
  "server-sign-in.unknown": "somebody unknown",
  "server-sign-in.back": "Back to Parley",
  "signin.title": "You are not signed in",
  "signin.text": "Parley signs you in by an address that it prints when it starts. In a terminal on this computer, start it:",
  "signin.running": "Or, if it is running already, let it print a fresh address:",
  "signin.address": "Then open the address. It looks like this:",
  "signin.once": "Each address signs in once. After that this browser stays signed in, also when Parley is started again.",
  "signin.refused": "Parley does not accept this browser’s sign-in any more. Open a new address to sign in again.",
  "signin.forget": "Forget the old sign-in",
  "page.skip": "Skip to the conversation",
  "page.side": "Conversations and servers",
  "page.menu": "Menu",
  "page.new": "New conversation",
  "page.conversations": "Conversations",
  "page.conversations.older": "Older",
  "page.conversations.none": "None yet. A conversation begins with the first tool that you run.",
  "page.servers": "Servers",
  "page.untitled": "Untitled conversation",
  "page.who": "Signed in: {name}",
  "page.sign-out": "Sign out",
  "page.more": "More",
  "page.permissions": "Permissions",
  "page.trail": "Your trail",
  "page.notify": "Notify me in this browser",
  "page.notify.on": "Notifications are on while this page is open and out of sight. They say who asks, never what.",
  "page.notify.off": "Tells you when a question comes while this page is open and out of sight.",
  "page.notify.denied": "The browser does not allow notifications of this page.",
  "disabled.title": "You may not use this any more",
  "disabled.text": "Whoever runs this Parley has taken your access away. Your open calls have ended, and nothing more is sent for you.",
  "permissions.title": "Permissions that hold",
  "permissions.about": "Tools that a model may use for you without asking again. Each holds for exactly the tool as it was: if its server changes it, you are asked.",
  "permissions.none": "There are none. Every use of a tool that needs a permission is asked about.",
  "permissions.tool": "{tool} on {server}",
  "permissions.always": "In all your conversations, since {at}",
  "permissions.conversation": "In one conversation, since {at}",
  "permissions.show": "Show the conversation",
  "permissions.revoke": "Revoke",
  "permissions.revoke.of": "Revoke {tool} on {server}",
  "permissions.revoked": "Revoked: you are asked about {tool} on {server} again.",
  "trail.title": "Your trail",
  "trail.about": "What happened to your calls, the newest first. It holds no argument and no answer.",
  "trail.none": "Nothing happened yet.",
  "trail.more": "Show older entries",
  "trail.end": "That is all.",
  "trail.list": "Entries",
  "trail.composed": "You called {tool} on {server}.",
  "trail.composed.model": "A model asked for {tool} on {server} for you.",
  "trail.asked": "{server} asked you a question.",
  "trail.asked.url": "{server} asked you to open a website.",
  "trail.shown": "The question of {server} was shown to you{via}.",
  "trail.shown.approval": "The request for permission for {tool} on {server} was shown{by}{via}.",
  "trail.expiring": "A question of {server} is about to expire without an answer.",
  "trail.opened": "You agreed to open an address for {server}{via}.",
  "trail.answered.accepted": "You answered {server}{via}.",
  "trail.answered.declined": "You declined a question of {server}{via}.",
  "trail.answered.cancelled": "You cancelled a question of {server}{via}.",
  "trail.answered": "You answered {server}{via}.",
  "trail.checked": "An answer to {server} did not fit the question and was not taken.",
  "trail.taken_back": "You took an answer to {server} back{via}.",
  "trail.delivered": { one: "An answer was sent to {server}.", other: "{n} answers were sent to {server}." },
  "trail.closed": "A question of {server} ended without an answer.",
  "trail.blocked": "{tool} on {server} cannot go on yet.",
  "trail.uncertain": "It is not known whether {tool} on {server} happened.",
  "trail.finished": "{tool} on {server} ended: {state}.",
  "trail.denied": "{tool} on {server} was not allowed.",
  "trail.stopped": "{tool} on {server} was stopped{by}.",
  "trail.resolved": "You decided what became of {tool} on {server}.",
  "trail.approval_asked": "Permission was asked for {tool} on {server}.",
  "trail.approval_decided.allowed": "{tool} on {server} was allowed{by}{via}.",
  "trail.approval_decided.denied": "{tool} on {server} was not allowed{by}{via}.",
  "trail.approval_closed": "The request for permission for {tool} on {server} ended without a decision.",
  "trail.approval_revoked": "A permission for {tool} on {server} was revoked{by}.",
  "trail.disabled": "Your access was taken away{by}.",
  "trail.enabled": "Your access was given back{by}.",
  "trail.erased": "What was stored of you was removed{by}.",
  "trail.credential_read": "A sign-in of yours was used for {server}.",
  "trail.other": "Something of the kind {kind} happened.",
  "trail.by.you": " by you",
  "trail.by.machine": " by Parley",
  "trail.by": " by {who}",
  "trail.a-tool": "A tool",
  "trail.a-server": "a server",
  "trail.end.done": "done",
  "trail.end.failed": "failed",
  "trail.end.stopped": "stopped",
  "trail.end.expired": "without an answer",
  "trail.end.interrupted": "interrupted",
  "trail.end.lapsed": "the server no longer continues it",
  "trail.end.denied": "not allowed",
  "server.connected": "connected",
  "server.idle": "not in use",
  "server.failed": "cannot be reached",
  "server.more": "Details",
  "server.address": "Address",
  "server.revision": "Protocol",
  "server.note": "Note",
  "chat.title": "Conversation",
  "question.title": "Question",
  "chat.empty": "Run a tool",
  "chat.empty.text": "The tool’s server may ask you something on the way. Its questions appear here, and nothing is sent before you say so.",
  "picker.title": "Pick a tool",
  "picker.another": "Run another tool",
  "picker.no-model": "No model is connected: pick a tool and fill in its arguments yourself.",
  "picker.no-servers": "No servers. Add one to the servers file and start Parley again.",
  "picker.server": "Server",
  "picker.server-one": "Server: {server}",
  "picker.loading": "Asking {server} for its tools",
  "picker.no-tools": "{server} offers no tools.",
  "picker.retry": "Try again",
  "picker.find": "Find a tool",
  "picker.tools": "Tools of {server}",
  "picker.changed": "Changed since you last saw it",
  "picker.on": "on {server}",
  "picker.no-arguments": "This tool takes no arguments.",
  "picker.run": "Run {tool}",
  "picker.running": "Starting",
  "picker.other": "Choose another tool",
  "tool.titled": "“{title}”",
  "call.ran": "You ran {tool} on {server}",
  "call.ran.at": "You ran {tool} on {server} ({place})",
  "call.model": "A model asked for {tool} on {server}",
  "call.replaces": "This runs an earlier call again.",
  "call.replaces.show": "Show the earlier call",
  "call.no-arguments": "No arguments.",
  "call.decline-rest": "Decline the rest",
  "call.stop": "Stop",
  "call.run-again": "Run again",
  "call.run-again.hint": "Run again starts a new call with the same arguments. Answers that you gave are filled in; nothing is sent before you send it.",
  "state.new": "Preparing",
  "state.approving": "Waiting for permission",
  "state.ready": "About to be sent",
  "state.claimed": "About to be sent",
  "state.sent": "Running on {server}",
  "state.waiting": "Waiting for you",
  "state.waiting.rest": "Waiting for the rest",
  "state.asks": { one: "{server} waits for your answer", other: "{server} waits for {n} answers from you" },
  "state.blocked": "Cannot go on yet",
  "state.uncertain": "It is not known whether this happened",
  "state.done": "Done",
  "state.done.wrong": "Ended with an error",
  "state.failed": "Failed",
  "state.denied": "Not allowed",
  "state.stopped": "Stopped",
  "state.expired": "Ended without an answer",
  "state.interrupted": "Interrupted",
  "state.lapsed": "The server no longer continues this",
  "why.new": "The call is being prepared.",
  "why.approving": "Somebody has to allow this call before it is sent.",
  "why.ready": "The call is sent to {server} in a moment.",
  "why.claimed": "The call is sent to {server} in a moment.",
  "why.sent": "Parley waits for {server} to answer.",
  "why.waiting": { one: "The call goes on when you have answered the question above. You can close this page: the question stays open.", other: "The call goes on when you have answered the questions above. You can close this page: they stay open." },
  "why.held": "{server} keeps the connection open until you answer. You can close this page: the question stays open.",
  "why.blocked": "{server} cannot be used at the moment. The call goes on as soon as it can.",
  "why.uncertain": "The call was sent and no answer came back. {server} may have done the work or not.",
  "why.done": "{server} has answered.",
  "why.failed": "{server} could not do this.",
  "why.denied": "A rule of this Parley does not allow the call. Nothing was sent.",
  "why.stopped": "You stopped the call.",
  "why.expired": "Nobody answered in time. Nothing more was sent.",
  "why.interrupted": "The connection that the call was waiting on is gone. None of your answers had been sent.",
  "why.lapsed": "{server} does not accept the paused work any more.",
  "resolve.title": "What shall be done?",
  "resolve.send-again": "Send again",
  "resolve.send-again.hint": "Sends the same call once more. If {server} had done the work already, it may do it twice.",
  "resolve.send-again.held": "Runs {tool} again from the top, as a new call. If {server} had done the work already, it may do it twice. Your answers are filled in for you to send.",
  "resolve.it-happened": "It happened",
  "resolve.it-happened.hint": "Choose this when you have looked at {server} and the work is done. Nothing is sent.",
  "resolve.give-up": "Give up",
  "resolve.give-up.hint": "Ends the call as failed. Nothing more is sent; what {server} did stays as it is.",
  "result.title": "Answer from {server}",
  "result.error": "{server} says that this went wrong.",
  "result.protocol": "{server} refused the call.",
  "result.code": "Error code {code}",
  "result.empty": "{server} answered without any text.",
  "result.structured": "Data",
  "result.raw": "Whole answer as JSON",
  "result.large": "Large answer, {size}",
  "result.show": "Show it",
  "result.more": { one: "And {n} more part, not shown.", other: "And {n} more parts, not shown." },
  "call.large-arguments": "Much was sent along, {size}",
  "call.more-arguments": { one: "And {n} more, not shown.", other: "And {n} more, not shown." },
  "result.long": "Long text, {n} characters",
  "result.image": "An image ({name}), not shown",
  "result.audio": "A recording ({name}), not played",
  "result.link": "A link to {name}, not opened",
  "result.resource": "Attached: {name}",
  "result.other": "Something of the kind {name}, which this page cannot show",
  "result.bytes": "{n} bytes",
  "card.kind.form": "Question",
  "card.kind.url": "Request to open a website",
  "card.count": "{i} of {of}",
  "card.asks": "{server} asks",
  "card.asks.at": "{server} ({place}) asks",
  "card.asked": "{server} asked",
  "card.asked.at": "{server} ({place}) asked",
  "card.until": "Open until {when}.",
  "card.show-all": "Show all {n} characters",
  "card.folded": "Left for later. The question stays open.",
  "card.changed": "{server} has changed the question. Look at it again before you send.",
  "card.closed-elsewhere": "This question was closed elsewhere in the meantime. What you did here was not sent; what counts is below.",
  "card.read-only": "It can be looked at here, but not decided. Open Parley itself for that.",
  "card.take-back": "You can change your mind until your answers are sent to {server}.",
  "approval.kind": "Parley asks for permission",
  "approval.asks.model": "A model wants to use {tool} on {server}",
  "approval.asks.model-of": "A model of {who} wants to use {tool} on {server}",
  "approval.asks.you": "You want to use {tool} on {server}",
  "approval.asks.person": "{who} wants to use {tool} on {server}",
  "approval.asked.model": "A model wanted to use {tool} on {server}",
  "approval.asked.model-of": "A model of {who} wanted to use {tool} on {server}",
  "approval.asked.you": "You wanted to use {tool} on {server}",
  "approval.asked.person": "{who} wanted to use {tool} on {server}",
  "approval.server": "Server",
  "approval.local": "(this computer)",
  "approval.tool": "Tool",
  "approval.prompt": "Prompt",
  "approval.resource": "Resource",
  "approval.why": "Why you are asked",
  "approval.why.rule": "A rule of this Parley asks a person first.",
  "approval.rule": "Rule: {rule}",
  "approval.sent": "What is sent to {server}",
  "approval.json": "Exactly this, as JSON",
  "approval.more": { one: "And {n} more value, which the JSON below shows.", other: "And {n} more values, which the JSON below shows." },
  "approval.large": "Much would be sent ({size}). Look at it before you decide.",
  "approval.large.hidden": "Much would be sent ({size}), which cannot be shown here.",
  "approval.about": "What {server} says about the tool",
  "approval.answered": { one: "You have answered a question, and your answer would be sent now:", other: "You have answered questions, and your answers would be sent now:" },
  "approval.answered.other": { one: "The asker has answered a question, and the answer would be sent now:", other: "The asker has answered questions, and the answers would be sent now:" },
  "approval.decide": "Decide",
  "approval.allow.once": "Allow once",
  "approval.allow.conversation": "Allow in this conversation",
  "approval.allow.always": "Always allow this tool",
  "approval.deny": "Don’t allow",
  "approval.help.once": "This call is sent to {server}, and no other one.",
  "approval.help.conversation": "This call is sent, and further calls of exactly this tool in this conversation without asking you.",
  "approval.help.always": "This call is sent, and further calls of exactly this tool in all your conversations without asking you. If {server} changes the tool, you are asked again. You can revoke it.",
  "approval.help.deny": "The call ends. Nothing more is sent to {server}.",
  "approval.waits.group": "Waiting for somebody of the group {group}.",
  "approval.waits.person": "Waiting for {who}.",
  "approval.waits.not-you": "Who asked may not decide.",
  "approval.until": "Open until {when}. Without a decision nothing more is sent.",
  "approval.allowed.once": "You allowed this call {at}{via}.",
  "approval.allowed.conversation": "You allowed this tool in the conversation {at}{via}.",
  "approval.allowed.always": "You allowed this tool always {at}{via}.",
  "approval.denied": "You did not allow it {at}{via}. Nothing more was sent.",
  "approval.allowed.once.by": "{who} allowed this call {at}.",
  "approval.allowed.conversation.by": "{who} allowed this tool in the conversation {at}.",
  "approval.allowed.always.by": "{who} allowed this tool always {at}.",
  "approval.denied.by": "{who} did not allow it {at}. Nothing more was sent.",
  "approval.expired": "Nobody decided by then: it ended {at}. Nothing more was sent.",
  "approval.withdrawn": "No permission is needed any more, because the call ended.",
  "approval.closed-elsewhere": "This was decided elsewhere in the meantime. What you did here does not count; what counts is below.",
  "approval.revoke": "Revoke",
  "approval.revoke.hint": "From then on you are asked again.",
  "action.send": "Send to {server}",
  "action.accept": "Accept and tell {server}",
  "action.review": "Review answers",
  "action.change": "Change",
  "action.decline": "Decline",
  "action.cancel": "Cancel question",
  "action.later": "Not now",
  "action.unfold": "Answer now",
  "action.take-back": "Take back",
  "help.title": "What do these buttons do?",
  "help.decline": "{server} is told that you say no.",
  "help.cancel": "{server} is told that you closed the question without deciding.",
  "help.later": "Nothing is sent. The question stays open, here and in your inbox.",
  "review.title": "Check what will be sent to {server}",
  "review.nothing": "No values are sent, only that you accept.",
  "review.empty": "empty",
  "review.default": "suggested by {server}",
  "review.default.argument": "default value",
  "review.earlier": "from your earlier answer",
  "review.omitted": "No answer, not sent: {list}",
  "record.sent": "You sent this {at}{via}.",
  "record.agreed": "You accepted {at}{via}.",
  "record.opened": "You agreed to open {domain} {at}{via}.",
  "record.declined": "You declined {at}{via}. Nothing that you typed was sent.",
  "record.cancelled": "You cancelled this question {at}{via}. Nothing that you typed was sent.",
  "record.expired": "Nobody answered by {at}, so the question ended.",
  "record.withdrawn": "{server} withdrew the question. Nothing was sent.",
  "closed.server": "{server} withdrew the question. Nothing was sent.",
  "closed.stop": "The question ended because you stopped the call. Nothing was sent.",
  "closed.call_ended": "The question ended because its call ended. Nothing was sent.",
  "closed.policy": "The question ended because a rule of this Parley does not allow the call any more. Nothing was sent.",
  "closed.host_stopped": "The question ended because the connection to {server} was lost. Nothing was sent.",
  "via.chat": " in this conversation",
  "via.inbox": " from the inbox",
  "via.api": " through another program",
  "via.terminal": " in a terminal",
  "time.today": "at {time}",
  "time.day": "on {date} at {time}",
  "form.left-out": "Not asked, because it cannot be shown here:",
  "form.no-view": "The question cannot be shown as a form.",
  "form.stopped": "“{label}” must be answered and cannot be shown: {reason}",
  "form.cannot-send": "This cannot be sent.",
  "field.optional": "(optional)",
  "field.error": "Error:",
  "field.suggested": "Suggested by {server}",
  "field.default": "Filled in with the default value",
  "field.earlier": "From your earlier answer",
  "field.secret": "{server} must not ask for this in a form. Do not type a password, a key or a card number here.",
  "field.secret.argument": "What you type here is shown in the conversation. Do not type a password, a key or a card number.",
  "field.undrawable": "Left out:",
  "field.undrawable.required": "Must be answered, but cannot be shown here:",
  "field.send-empty": "Send it empty on purpose",
  "inbox.none": "No questions waiting",
  "inbox.waiting": { one: "{n} question waiting", other: "{n} questions waiting" },
  "inbox.permissions": { one: "{n} permission to decide", other: "{n} permissions to decide" },
  "inbox.both": "{questions}, {permissions}",
  "inbox.about": "What waits for you in all your conversations, the oldest first.",
  "inbox.of-others": "Of {who}",
  "refusals.text": { one: "{n} question from {server} was not shown: it asked too many.", other: "{n} questions from {server} were not shown: it asked too many." },
  "refusals.since": "Since {at}.",
  "refusals.title": "Questions that were not shown",
  "refusals.stop": "Stop all from {server}",
  "refusals.clear": "Understood",
  "refusals.stopped": { one: "{n} call of {server} was stopped.", other: "{n} calls of {server} were stopped." },
  "inbox.context": "While running {tool}",
  "inbox.show": "Show the conversation",
  "limit.whole": "A whole number",
  "limit.whole.between": "A whole number between {min} and {max}",
  "limit.whole.least": "A whole number, {min} or more",
  "limit.whole.most": "A whole number, {max} or less",
  "limit.between": "A number between {min} and {max}",
  "limit.least": "A number, {min} or more",
  "limit.most": "A number, {max} or less",
  "limit.above": "More than {min}",
  "limit.below": "Less than {max}",
  "limit.multiple": "A multiple of {of}",
  "limit.items.any": "Select all that apply",
  "limit.items.exactly": "Select {n}",
  "limit.items.between": "Select {min} to {max}",
  "limit.items.least": "Select {n} or more",
  "limit.items.most": "Select up to {n}",
  "limit.uri": "A web address, such as https://example.com/page",
  "limit.json": "Written as JSON",
  "count.left": { one: "{n} character left", other: "{n} characters left" },
  "count.over": { one: "{n} character too many", other: "{n} characters too many" },
  "choice.yes": "Yes",
  "choice.no": "No",
  "choice.none": "No answer",
  "choice.empty": "(empty)",
  "choice.filter": "Filter options",
  "choice.shown": "{n} of {total} shown",
  "date.day": "Day",
  "date.month": "Month",
  "date.year": "Year",
  "date.example": "For example, {example}",
  "date.time": "Time (24 hours)",
  "date.zone": "Time zone",
  "date.own": "{zone}, UTC{offset} now",
  "date.echo": "Will be sent as {value}",
  "date.twice": "Clocks go back that night, so this time happens twice. Which one?",
  "date.first": "The first (UTC{offset})",
  "date.second": "The second (UTC{offset})",
  "date.unreal": "{label} must be a real date, with a year of four digits",
  "date.untimed": "{label} must have a time, such as 14:30",
  "date.gap": "{label} does not exist on that day: clocks in {zone} skip that hour",
  "date.which": "Select which of the two times you mean for {label}",
  "link.website": "Website:",
  "link.ascii": "(written {name} in addresses)",
  "link.letters": "(shown in letters: {name})",
  "link.none": "The request has no address.",
  "link.rewritten": "Browsers write this address in another way. It was sent as",
  "link.refuse": "Not opened:",
  "link.warn": "Warning:",
  "link.note": "Note:",
  "link.differs": "This browser reads the address in another way than Parley does.",
  "link.never": "Parley does not open this address. You can decline the request or cancel it.",
  "link.insecure": "This page was not loaded over a secure connection, so it does not open websites. Use Parley over https, or at 127.0.0.1.",
  "link.open": "Open {site} in a new tab",
  "link.open-anyway": "Open {site} anyway",
  "link.again": "Open again",
  "link.copy": "Copy address",
  "link.copied": "Address copied",
  "link.copy-failed": "The browser did not allow copying. The address is selected: copy it by keyboard.",
  "link.sure": "Are you sure?",
  "link.sure.text": "There is a warning about this address. Open it only if you expected {server} to send you to {site}.",
  "link.back": "Do not open",
  "link.opened": "When you have finished on {site}, say so here. {server} then looks whether it is done.",
  "link.finished": "I have finished",
  "link.nothing-opened": "Nothing opened? Copy the address and open it yourself.",
  "link.forward": "The website may send you on to other addresses, which Parley cannot check.",
  "link.held": "Opening tells {server} that you agreed.",
  "link.held.waits": "Finish on the website. {server} goes on by itself when it is done there."
};

// src/lib/text.ts
var catalogues = { en };
var language = (() => {
  const asked = (document.documentElement.lang || "en").toLowerCase();
  for (const name2 of [asked, asked.split("-")[0] ?? "en"]) if (name2 in catalogues) return name2;
  return "en";
})();
var catalogue = catalogues[language] ?? en;
var plurals = new Intl.PluralRules(language);
var numbers = new Intl.NumberFormat(language);
function template(key, params) {
  const entry = catalogue[key];
  if (typeof entry === "string") return entry;
  const n = Number(params["n"] ?? 0);
  return entry[plurals.select(n)] ?? entry.other;
}
function t(key, params = {}) {
  return template(key, params).replace(/\{(\w+)\}/g, (_, name2) => show(params[name2]));
}
function rich(key, params = {}) {
  return template(key, params).split(/(\{\w+\})/g).filter(Boolean).map((part) => {
    const name2 = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name2 === void 0) return part;
    const value = params[name2];
    return typeof value === "string" ? bdi(value) : show(value);
  });
}
function show(value) {
  return typeof value === "number" ? numbers.format(value) : value ?? "";
}
var locale = navigator.language?.toLowerCase().split("-")[0] === language.split("-")[0] ? navigator.language : language;
var moments = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short" });
var times = new Intl.DateTimeFormat(locale, { timeStyle: "short" });
var days = new Intl.DateTimeFormat(locale, { dateStyle: "long" });

// src/lib/api.ts
var Problem = class extends Error {
  status;
  code;
  errors;
  closedBy;
  question;
  constructor(status, body) {
    super(String(body["detail"] || body["title"] || t("error.status", { status: String(status) })));
    this.status = status;
    this.code = String(body["code"] ?? "");
    this.errors = Array.isArray(body["errors"]) ? body["errors"] : [];
    this.closedBy = String(body["closed_by"] ?? "");
    this.question = body["question"] ?? null;
  }
};
var Unreachable = class extends Error {
  constructor() {
    super(t("error.unreachable"));
  }
};
async function decode(response) {
  let body;
  try {
    const text = await response.text();
    body = text === "" ? {} : parseExact(text);
  } catch {
    if (response.ok) throw new Unreachable();
    body = {};
  }
  if (response.ok) return body;
  throw new Problem(response.status, typeof body === "object" && body !== null ? body : {});
}
function sentence(error) {
  return error instanceof Problem || error instanceof Unreachable ? error.message : t("error.unexpected");
}

// src/page/token.ts
var name = "parley.token";
var memory = null;
function token() {
  try {
    return localStorage.getItem(name) ?? memory;
  } catch {
    return memory;
  }
}

// src/lib/base.css
var base_default = '/* What all roots share: tokens, text, buttons, inputs. Integrators set --parley-*. */\n:host {\n	--_ink: var(--parley-ink, light-dark(#1b2026, #e7e9ec));\n	--_quiet: var(--parley-quiet, light-dark(#56606b, #a3acb5));\n	--_paper: var(--parley-paper, light-dark(#ffffff, #1b1f24));\n	--_ground: var(--parley-ground, light-dark(#f6f6f3, #121518));\n	--_line: var(--parley-line, light-dark(#d9dbde, #373e46));\n	--_edge: var(--parley-edge, light-dark(#7b858f, #7f8a95));\n	--_accent: var(--parley-accent, light-dark(#0a5f73, #6fc7da));\n	--_on-accent: var(--parley-on-accent, light-dark(#ffffff, #06222a));\n	--_tint: var(--parley-tint, light-dark(#e8f1f3, #1d2c31));\n	--_ask: var(--parley-ask, light-dark(#8a5a00, #e5b656));\n	--_ask-tint: var(--parley-ask-tint, light-dark(#fdf8ec, #221e15));\n	--_bad: var(--parley-bad, light-dark(#b0231b, #ff948a));\n	--_bad-tint: var(--parley-bad-tint, light-dark(#fdf1f0, #2b1a19));\n	--_good: var(--parley-good, light-dark(#1b6e3c, #7ad3a0));\n	--_radius: var(--parley-radius, 10px);\n	--_mono: ui-monospace, "SFMono-Regular", Menlo, Consolas, "Liberation Mono", monospace;\n	display: block;\n	color: var(--_ink);\n	font-family: var(--parley-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif);\n	font-size: 1rem;\n	line-height: 1.5;\n}\n:host([hidden]), [hidden] { display: none !important }\n*, ::before, ::after { box-sizing: border-box }\nh1, h2, h3, h4, p, ul, dl, dd, fieldset, pre, figure { margin: 0; padding: 0; border: 0 }\nfieldset { min-inline-size: 0 }\nh1 { font-size: 1.5rem; line-height: 1.25; font-weight: 650; letter-spacing: -.01em }\nh2 { font-size: 1.0625rem; line-height: 1.35; font-weight: 600 }\nh3 { font-size: 1.125rem; line-height: 1.35; font-weight: 650 }\nh4 { font-size: 1rem; line-height: 1.4; font-weight: 650 }\np, li, dt, dd, label, legend, code, pre, summary, h1, h2, h3, h4, button, .foreign { overflow-wrap: anywhere }\n.foreign { white-space: pre-wrap; unicode-bidi: isolate }\n.quiet, .hint, .time { color: var(--_quiet) }\n.hint, .time { font-size: .9375rem }\n/* A status that says nothing takes no room, and stays where screen readers found it. */\n[role="status"]:empty { position: absolute }\n.eyebrow { font-size: .8125rem; font-weight: 600; letter-spacing: .02em; color: var(--_quiet) }\n.away {\n	position: absolute; inline-size: 1px; block-size: 1px; margin: -1px; overflow: hidden;\n	clip-path: inset(50%); white-space: nowrap;\n}\na { color: var(--_accent); text-underline-offset: .15em }\ncode, pre, .code { font-family: var(--_mono); font-size: .875em }\ncode.value { color: var(--_quiet) }\npre {\n	white-space: pre-wrap; padding: .75rem; border: 1px solid var(--_line); border-radius: 6px;\n	background: var(--_ground); max-block-size: 24rem; overflow: auto;\n}\n\nbutton, a.button {\n	font: inherit; font-weight: 550; color: var(--_ink); background: var(--_paper); text-decoration: none; text-align: center;\n	border: 1px solid var(--_edge); border-radius: 7px; padding: .4375rem .875rem; min-block-size: 2.5rem; cursor: pointer;\n}\nbutton:hover, a.button:hover { border-color: var(--_ink); background: var(--_ground) }\nbutton.primary { color: var(--_on-accent); background: var(--_accent); border-color: var(--_accent) }\nbutton.primary:hover { background: color-mix(in oklab, var(--_accent) 86%, var(--_ink)) }\nbutton[aria-disabled="true"] { opacity: .65; cursor: progress }\nbutton.link {\n	font-weight: inherit; color: var(--_accent); background: none; border: 0; padding: 0; min-block-size: 1.5rem;\n	text-decoration: underline; text-underline-offset: .15em; text-align: start;\n}\n:focus-visible { outline: 3px solid var(--_accent); outline-offset: 2px; border-radius: 4px }\n[tabindex="-1"]:focus-visible { outline-offset: 4px }\n.actions { display: flex; flex-wrap: wrap; gap: .625rem; align-items: center }\n\ninput[type="text"], input[type="search"], textarea, select {\n	font: inherit; color: var(--_ink); background: var(--_paper); border: 1px solid var(--_edge); border-radius: 6px;\n	padding: .4375rem .625rem; inline-size: 100%; min-block-size: 2.5rem;\n}\ntextarea { resize: vertical; display: block }\ntextarea.code { font-family: var(--_mono); font-size: .875rem }\ninput[type="radio"], input[type="checkbox"] { inline-size: 1.25rem; block-size: 1.25rem; margin: 0; accent-color: var(--_accent); flex: none }\n\n.notice, .warning, .note {\n	padding: .625rem .875rem; border-radius: 6px; border: 1px solid var(--_line); border-inline-start: 4px solid var(--_edge); background: var(--_paper);\n}\n.notice button { margin-block-start: .5rem }\n.notice.bad, .warning { border-inline-start-color: var(--_bad); background: var(--_bad-tint) }\n.rows { display: grid; gap: .5rem }\n.rows > div { display: grid; grid-template-columns: minmax(6rem, 12rem) 1fr; gap: .125rem 1rem }\n.rows dt { color: var(--_quiet) }\n.rows .from { display: block; font-size: .875rem; color: var(--_quiet); font-style: italic }\n@media (max-width: 30rem) {\n	.rows > div { grid-template-columns: 1fr }\n}\ndetails > summary { cursor: pointer; min-block-size: 1.5rem; inline-size: fit-content }\ndetails[open] > summary { margin-block-end: .5rem }\n@media (forced-colors: active) {\n	button.primary { forced-color-adjust: none; color: HighlightText; background: Highlight; border-color: Highlight }\n	.notice, .warning, .note { border-inline-start-color: CanvasText }\n}\n';

// src/page/app.css
var app_default = ':host { min-block-size: 100dvh; background: var(--_ground); display: flex; flex-direction: column }\nheader { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; padding: .625rem 1.25rem; background: var(--_paper); border-block-end: 1px solid var(--_line) }\n.skip { position: absolute; inset-block-start: -4rem; inset-inline-start: .5rem; z-index: 2 }\n.skip:focus { inset-block-start: .375rem }\n.brand { display: flex; align-items: center; gap: .5rem; font-weight: 700; font-size: 1.125rem; letter-spacing: -.01em; color: inherit; text-decoration: none; min-block-size: 1.5rem }\n.logo { inline-size: 1.25rem; block-size: 1.25rem; border-radius: 50% 50% 50% 3px; background: var(--_accent); position: relative }\n.logo::after { content: ""; position: absolute; inset: .375rem; border-radius: 50%; background: var(--_paper) }\n.space { flex: 1 }\n.who { font-size: .875rem; overflow-wrap: anywhere; max-inline-size: 24rem }\nheader form { display: contents }\nheader form button { font-size: .875rem }\n.waiting { font-size: .9375rem; padding: .25rem .625rem; border-radius: 999px; border: 1px solid transparent; color: var(--_quiet); text-decoration: none; min-block-size: 1.5rem }\n.waiting.some { color: var(--_ask); border-color: currentColor; font-weight: 600; background: var(--_ask-tint) }\n.waiting:hover, .waiting[aria-current] { text-decoration: underline; text-underline-offset: .2em }\n.menu { display: none; min-block-size: 2.25rem; padding-block: .25rem }\n.banner { padding: .5rem 1.25rem; text-align: center; font-weight: 600; color: var(--_bad); background: var(--_bad-tint); border-block-end: 1px solid var(--_line); position: sticky; inset-block-start: 0; z-index: 1 }\n.columns { flex: 1; display: grid; grid-template-columns: 17rem minmax(0, 1fr) }\n\n.columns.alone { display: block }\naside { padding: 1.25rem; border-inline-end: 1px solid var(--_line); display: grid; gap: 1.5rem; align-content: start }\naside h2 { font-size: .8125rem; letter-spacing: .02em; color: var(--_quiet); margin-block-end: .5rem }\naside ul { list-style: none; display: grid; gap: .25rem }\naside nav a { display: grid; padding-block: .4375rem; padding-inline: .4375rem .625rem; border-inline-start: 3px solid transparent; margin-inline: -.625rem; border-radius: 0; border-start-end-radius: 7px; border-end-end-radius: 7px; color: inherit; text-decoration: none; font-size: .9375rem }\naside nav a:hover { background: var(--_paper) }\naside nav a[aria-current] { background: var(--_paper); border-inline-start-color: var(--_accent) }\naside nav .title { font-weight: 550; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden }\naside nav .quiet { font-size: .875rem }\naside nav strong { color: var(--_ask) }\naside .servers { gap: .875rem; font-size: .9375rem }\n.status { color: var(--_quiet); font-size: .875rem }\n.status::before { content: "● "; font-size: .625rem; vertical-align: .1em }\n.status.connected::before { color: var(--_good) }\n.status.failed::before { content: "■ "; color: var(--_bad) }\n.status.idle::before { content: "○ " }\n.address { font-size: .875rem }\n.bad-text { color: var(--_bad); font-size: .875rem }\naside details { font-size: .875rem; color: var(--_quiet) }\naside .rows > div { grid-template-columns: 1fr }\n@media (min-width: 54.01rem) and (min-height: 30rem) {\n	/* What leads elsewhere stays in sight; static/page.css keeps this room when something is scrolled to. */\n	header { position: sticky; inset-block-start: 0; z-index: 2; min-block-size: 3.5rem }\n	.banner { inset-block-start: 3.5rem }\n	aside { position: sticky; inset-block-start: 3.5rem; align-self: start; min-block-size: calc(100dvh - 3.5rem); max-block-size: calc(100dvh - 3.5rem); overflow-y: auto }\n}\nmain { inline-size: 100%; max-inline-size: 50rem; margin-inline: auto; padding: 1.75rem 1.5rem 4rem }\nmain:focus-visible { outline: none }\naside .notify { margin-block-start: .75rem; display: grid; gap: .25rem; font-size: .875rem }\n.check { display: flex; align-items: center; gap: .5rem; min-block-size: 1.5rem }\n.listing { display: grid; gap: 1rem }\n.entries { list-style: none; display: grid; gap: .75rem; margin: 0; padding: 0 }\n.entries li { display: grid; gap: .375rem; padding: .875rem 1rem; background: var(--_paper); border: 1px solid var(--_line); border-radius: var(--_radius) }\n.entries.trail { gap: 0 }\n.entries.trail li { padding: .625rem .25rem; background: none; border: 0; border-block-end: 1px solid var(--_line); border-radius: 0; gap: 0 }\n.signed-out { display: grid; gap: 1rem; max-inline-size: 36rem; padding-block: 2rem }\n@media (max-width: 54rem) {\n	.columns { display: block }\n	.menu { display: block }\n	aside { display: none; border-inline-end: 0; border-block-end: 1px solid var(--_line); background: var(--_paper) }\n	aside.open { display: grid }\n}\n@media (max-width: 30rem) {\n	header { padding-inline: .875rem; gap: .5rem }\n	main { padding: 1.25rem .875rem 3rem }\n	.waiting { order: 1; flex: 1 0 100%; text-align: center }\n	.waiting:not(.some) { padding: 0; text-align: start }\n}\n@media (forced-colors: active) {\n	.logo { forced-color-adjust: none; background: CanvasText }\n	.waiting.some { border-color: LinkText }\n	aside nav a[aria-current] { outline: 2px solid Highlight }\n}\n';

// src/page/signedin.ts
var ParleySignedIn = class extends HTMLElement {
  #root = shadow(this, base_default, app_default);
  #main = el("main", { id: "main", tabIndex: -1, "aria-live": "polite" });
  #reply = {};
  connectedCallback() {
    const query = new URLSearchParams(location.search);
    this.#reply = Object.fromEntries(["state", "code", "iss", "error"].map((name2) => [name2, query.get(name2) ?? ""]));
    history.replaceState(null, "", location.pathname);
    fill(this.#root, el("header", null, el("a", { class: "brand", href: "/" }, el("span", { class: "logo", "aria-hidden": "true" }), t("product"))), el("div", { class: "columns alone" }, this.#main));
    void this.#finish();
  }
  async #finish() {
    if (!this.#reply["state"]) {
      this.#show("bad", t("server-sign-in.empty"));
      return;
    }
    this.#show("busy", t("server-sign-in.busy"));
    await this.#ask("/v1/servers/sign-in/callback", this.#reply);
  }
  async #ask(path, body) {
    const headers = new Headers({ "Content-Type": "application/json" });
    const bearer = token();
    if (bearer) headers.set("Authorization", `Bearer ${bearer}`);
    try {
      const response = await fetch(path, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        credentials: "same-origin",
        cache: "no-store",
        redirect: "error",
        referrerPolicy: "no-referrer"
      }).catch(() => {
        throw new Unreachable();
      });
      this.#result(await decode(response));
    } catch (error) {
      const out = error instanceof Problem && error.status === 401;
      const again = out || error instanceof Unreachable;
      this.#show(
        "bad",
        out ? t("server-sign-in.out") : sentence(error),
        again ? el("button", { type: "button", "data-action": "again", on: { click: () => void this.#ask(path, body) } }, t("server-sign-in.again")) : null
      );
    }
  }
  #result(result) {
    const server = result.server;
    if (result.outcome === "denied") this.#show("quiet", rich("server-sign-in.denied", { server }));
    else if (result.outcome === "other_account") {
      const choose = (replace) => void this.#ask(`/v1/servers/${encodeURIComponent(server)}/account`, { decision: result.decision ?? "", replace });
      this.#show(
        "asks",
        rich("server-sign-in.other", { server, account: result.account || t("server-sign-in.unknown"), before: result.before || t("server-sign-in.unknown") }),
        el("button", { type: "button", "data-action": "keep", on: { click: () => choose(false) } }, t("server-sign-in.keep")),
        el("button", { type: "button", "data-action": "replace", on: { click: () => choose(true) } }, t("server-sign-in.replace"))
      );
    } else {
      this.#show("good", [
        rich(result.account ? "server-sign-in.done.as" : "server-sign-in.done", { server, account: result.account ?? "" }),
        result.resumed > 0 ? [" ", t("server-sign-in.resumed", { n: result.resumed })] : null,
        result.missing.length > 0 ? [" ", t("server-sign-in.missing", { scopes: result.missing.join(", ") })] : null
      ]);
    }
  }
  #show(outcome, words, ...actions) {
    fill(this.#main, el(
      "section",
      { class: "signed-out", "data-part": "server-sign-in", "data-outcome": outcome },
      el("h1", null, t("server-sign-in.title")),
      el("p", null, words),
      el("div", { class: "actions" }, actions, outcome === "busy" ? null : el("a", { class: "button", href: "/", "data-action": "back" }, t("server-sign-in.back")))
    ));
  }
};

// src/signin.ts
customElements.define("parley-signed-in", ParleySignedIn);
