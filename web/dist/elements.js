// src/lib/announce.ts
var region = null;
var queue = [];
var timer = 0;
function prepareAnnouncer() {
  region ??= document.getElementById("parley-status");
  if (region) return;
  region = document.createElement("div");
  region.id = "parley-status";
  region.setAttribute("role", "status");
  Object.assign(region.style, { position: "absolute", width: "1px", height: "1px", margin: "-1px", overflow: "hidden", clipPath: "inset(50%)", whiteSpace: "nowrap" });
  document.body.append(region);
}
function announce(text2) {
  prepareAnnouncer();
  queue.push(text2);
  if (!timer) timer = window.setTimeout(next, 100);
}
function next() {
  timer = 0;
  const text2 = queue.shift();
  if (text2 === void 0 || !region) return;
  if (region.textContent === text2) {
    region.textContent = "";
    queue.unshift(text2);
    timer = window.setTimeout(next, 100);
    return;
  }
  region.textContent = text2;
  timer = window.setTimeout(next, 1500);
}

// src/lib/dom.ts
var attributeNames = /* @__PURE__ */ new Set(["role", "for", "part", "list"]);
function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === void 0 || value === null || value === false && attributeNames.has(name)) continue;
    if (name === "class") node.className = String(value);
    else if (name === "on") listen(node, value);
    else if (name.includes("-") || attributeNames.has(name)) node.setAttribute(name, String(value));
    else node[name] = value;
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
function bdi(text2) {
  return el("bdi", null, text2);
}
function foreign(tag, text2, className = "") {
  return el(tag, { class: `foreign ${className}`.trim(), dir: "auto" }, text2);
}
var made = /* @__PURE__ */ new Map();
function sheet(text2) {
  let found = made.get(text2);
  if (!found) {
    found = new CSSStyleSheet();
    found.replaceSync(text2);
    made.set(text2, found);
  }
  return found;
}
function shadow(host, ...css) {
  const root = host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = css.map(sheet);
  return root;
}
function focused(root) {
  return root.activeElement instanceof HTMLElement ? root.activeElement : null;
}
function keepFocus(root, change) {
  const before = focused(root);
  const caret = before && isText(before) ? before.selectionStart : null;
  const scrolled = [...root.querySelectorAll(".scroll")].map((node) => [node, node.scrollTop]);
  change();
  for (const [node, top] of scrolled) if (top > 0 && node.isConnected) node.scrollTop = top;
  if (!before || root.activeElement === before) return true;
  const after = root.contains(before) ? before : before.id ? root.getElementById(before.id) : null;
  if (!after) return false;
  after.focus({ preventScroll: true });
  if (caret !== null && isText(after)) after.setSelectionRange(caret, caret);
  return true;
}
function isText(node) {
  return node instanceof HTMLTextAreaElement || node instanceof HTMLInputElement && (node.type === "text" || node.type === "search");
}
var ids = 0;
function uid(prefix2) {
  return `${prefix2}-${++ids}`;
}
function randomId(bytes2) {
  const raw = crypto.getRandomValues(new Uint8Array(bytes2));
  return btoa(String.fromCharCode(...raw)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// src/lib/json.ts
var exact = JSON;
function parseExact(text2) {
  const reviver = (_key, value, context) => {
    if (typeof value !== "number" || context?.source === void 0 || String(value) === context.source || !exact.rawJSON) return value;
    return exact.rawJSON(context.source);
  };
  return JSON.parse(text2, reviver);
}
function pretty(value) {
  return JSON.stringify(value, null, 2) ?? "";
}
function scalar(value) {
  if (typeof value === "string") return value;
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (exact.isRawJSON?.(value)) return JSON.stringify(value);
  return null;
}

// src/lib/ar.ts
var ar = {
  "product": "Parley",
  "loading": "جارٍ التحميل",
  "error.status": "أجاب Parley بخطأ ({status}).",
  "error.unreachable": "لم يُجب Parley. لم يضِع شيء: ما كتبته ما زال هنا. أعد المحاولة بعد قليل.",
  "error.unexpected": "حدث خطأ في هذه الصفحة. أعد تحميلها: ما كتبته محفوظ.",
  "error.summary": "هناك مشكلة",
  "connection.lost": "انقطع الاتصال بـ Parley، وتجري إعادة المحاولة",
  "connection.back": "عاد الاتصال بـ Parley",
  "said.asks": "{server} يسأل: {message}",
  "said.ended": "انتهى {tool} على {server}",
  "said.approval": "إذنك مطلوب: {tool} على {server}",
  "said.notify": "{server} يسألك شيئًا",
  "said.notify.approval": "يحتاج Parley إلى إذنك",
  "who.local": "هذا الحاسوب",
  "sign-in.as": "تم الدخول باسم {account}",
  "sign-in.button": "تسجيل الدخول إلى {server}",
  "sign-in.where": "لتسجيل الدخول إلى {server} تنتقل إلى {site} في علامة تبويب جديدة. تأكد أن حسابك هناك.",
  "sign-in.scopes": "يُطلب السماح بما يلي: {scopes}",
  "sign-in.go": "الانتقال إلى {site}",
  "server-sign-in.title": "تسجيل الدخول إلى خادم",
  "server-sign-in.busy": "لحظة من فضلك …",
  "server-sign-in.empty": "لا يوجد تسجيل دخول في هذا العنوان. عُد إلى Parley وسجّل الدخول من هناك.",
  "server-sign-in.out": "هذا المتصفح غير مسجّل الدخول إلى Parley. سجّل الدخول إلى Parley هنا، أو عُد إلى المتصفح الذي بدأت فيه، ثم أعد المحاولة. لم يضِع شيء بعد.",
  "server-sign-in.again": "إعادة المحاولة",
  "server-sign-in.denied": "لم يُسمح لـ {server} بالعمل نيابةً عنك. لم يتغير شيء.",
  "server-sign-in.done": "تم تسجيل دخولك إلى {server}.",
  "server-sign-in.done.as": "تم تسجيل دخولك إلى {server} باسم {account}.",
  "server-sign-in.resumed": { zero: "لا توجد استدعاءات تنتظره.", one: "الاستدعاء الذي كان ينتظره يُستأنف.", two: "الاستدعاءان اللذان كانا ينتظرانه يُستأنفان.", few: "{n} استدعاءات كانت تنتظره تُستأنف.", many: "{n} استدعاءً كانت تنتظره تُستأنف.", other: "{n} استدعاء كانت تنتظره تُستأنف." },
  "server-sign-in.missing": "لم يُسمح بكل شيء؛ الناقص: {scopes}.",
  "server-sign-in.other": "عُدت باسم {account}، وكنت مسجّل الدخول إلى {server} باسم {before}. أيهما يُعتمد من الآن؟",
  "server-sign-in.keep": "الاحتفاظ بالسابق",
  "server-sign-in.replace": "استخدام الجديد",
  "server-sign-in.unknown": "شخص غير معروف",
  "server-sign-in.back": "العودة إلى Parley",
  "signin.title": "لم تسجّل الدخول",
  "signin.text": "يسجّل Parley دخولك بعنوان يطبعه عند بدء تشغيله. شغّله في نافذة أوامر على هذا الحاسوب:",
  "signin.running": "أو، إن كان يعمل من قبل، اطلب منه طباعة عنوان جديد:",
  "signin.address": "ثم افتح العنوان. شكله كالتالي:",
  "signin.once": "كل عنوان يسجّل الدخول مرة واحدة. بعد ذلك يبقى هذا المتصفح مسجّل الدخول، حتى بعد إعادة تشغيل Parley.",
  "signin.refused": "لم يعد Parley يقبل تسجيل دخول هذا المتصفح. افتح عنوانًا جديدًا لتسجيل الدخول مرة أخرى.",
  "signin.forget": "نسيان تسجيل الدخول القديم",
  "page.skip": "الانتقال إلى المحادثة",
  "page.side": "المحادثات والخوادم",
  "page.menu": "القائمة",
  "page.new": "محادثة جديدة",
  "page.conversations": "المحادثات",
  "page.conversations.older": "الأقدم",
  "page.conversations.none": "لا شيء بعد. تبدأ المحادثة بأول أداة تشغّلها.",
  "page.servers": "الخوادم",
  "page.untitled": "محادثة بلا عنوان",
  "page.who": "المستخدم: {name}",
  "page.sign-out": "تسجيل الخروج",
  "page.more": "المزيد",
  "page.permissions": "الأذونات",
  "page.trail": "سجلّك",
  "page.notify": "إشعاري في هذا المتصفح",
  "page.notify.on": "الإشعارات مفعّلة ما دامت هذه الصفحة مفتوحة وخارج النظر. تذكر من يسأل، ولا تذكر أبدًا عمّا يسأل.",
  "page.notify.off": "تُعلمك بوصول سؤال بينما هذه الصفحة مفتوحة وخارج النظر.",
  "page.notify.denied": "لا يسمح المتصفح بإشعارات هذه الصفحة.",
  "disabled.title": "لم يعد بإمكانك استخدام هذا",
  "disabled.text": "ألغى القائم على Parley هذا صلاحية دخولك. انتهت استدعاءاتك المفتوحة، ولن يُرسل شيء آخر عنك.",
  "permissions.title": "الأذونات السارية",
  "permissions.about": "أدوات يجوز لنموذج أن يستخدمها عنك دون سؤال جديد. كل إذن يخص الأداة كما كانت تمامًا: إذا غيّرها خادمها تُسأل من جديد.",
  "permissions.none": "لا يوجد أي منها. كل استخدام لأداة تحتاج إلى إذن يُسأل عنه.",
  "permissions.tool": "{tool} على {server}",
  "permissions.always": "في كل محادثاتك، منذ {at}",
  "permissions.conversation": "في محادثة واحدة، منذ {at}",
  "permissions.show": "عرض المحادثة",
  "permissions.revoke": "إلغاء",
  "permissions.revoke.of": "إلغاء {tool} على {server}",
  "permissions.revoked": "أُلغي: ستُسأل من جديد عن {tool} على {server}.",
  "trail.title": "سجلّك",
  "trail.about": "ما حدث لاستدعاءاتك، الأحدث أولًا. لا يحوي أي مُدخل ولا أي إجابة.",
  "trail.none": "لم يحدث شيء بعد.",
  "trail.more": "عرض مدخلات أقدم",
  "trail.end": "هذا كل شيء.",
  "trail.list": "المدخلات",
  "trail.composed": "استدعيت {tool} على {server}.",
  "trail.composed.model": "طلب نموذجٌ عنك {tool} على {server}.",
  "trail.allowed": "سُمح بـ {tool} على {server} بقاعدة أو إذن غير ما كان من قبل.",
  "trail.permission": "شمله إذن سبق منحه.",
  "trail.asked": "طرح عليك {server} سؤالًا.",
  "trail.asked.url": "طلب منك {server} فتح موقع.",
  "trail.refused": { zero: "لم يُحجب أي سؤال من {server}.", one: "لم يُعرض سؤال من {server}: لا تسمح به قواعد هذا المضيف.", two: "لم يُعرض سؤالان من {server}: لا تسمح قواعد هذا المضيف بأحدهما.", few: "لم تُعرض {n} أسئلة من {server}: لا تسمح قواعد هذا المضيف بأحدها.", many: "لم يُعرض {n} سؤالًا من {server}: لا تسمح قواعد هذا المضيف بأحدها.", other: "لم يُعرض {n} سؤال من {server}: لا تسمح قواعد هذا المضيف بأحدها." },
  "trail.shown": "عُرض عليك سؤال {server}{via}.",
  "trail.shown.approval": "عُرض طلب الإذن لـ {tool} على {server}{by}{via}.",
  "trail.expiring": "سؤال من {server} يوشك أن تنتهي مدته بلا إجابة.",
  "trail.opened": "وافقت على فتح عنوان لأجل {server}{via}.",
  "trail.answered.accepted": "أجبت {server}{via}.",
  "trail.answered.declined": "رفضت سؤالًا من {server}{via}.",
  "trail.answered.cancelled": "ألغيت سؤالًا من {server}{via}.",
  "trail.answered": "أجبت {server}{via}.",
  "trail.checked": "إجابة إلى {server} لم تناسب السؤال ولم تُقبل.",
  "trail.taken_back": "سحبت إجابة إلى {server}{via}.",
  "trail.delivered": { zero: "لم تُرسل أي إجابة إلى {server}.", one: "أُرسلت إجابة إلى {server}.", two: "أُرسلت إجابتان إلى {server}.", few: "أُرسلت {n} إجابات إلى {server}.", many: "أُرسلت {n} إجابة إلى {server}.", other: "أُرسلت {n} إجابة إلى {server}." },
  "trail.closed": "انتهى سؤال من {server} بلا إجابة.",
  "trail.closed.accepted": "حُسم سؤال من {server}.",
  "trail.completed": "قال {server} إنك انتهيت على موقع.",
  "trail.blocked": "لا يمكن لـ {tool} على {server} المتابعة بعد.",
  "trail.uncertain": "لا يُعرف هل حدث {tool} على {server}.",
  "trail.finished": "انتهى {tool} على {server}: {state}.",
  "trail.denied": "لم يُسمح بـ {tool} على {server}.",
  "trail.stopped": "أُوقف {tool} على {server}{by}.",
  "trail.resolved": "قررت مصير {tool} على {server}.",
  "trail.approval_asked": "طُلب الإذن لـ {tool} على {server}.",
  "trail.approval_expiring": "طلب الإذن لـ {tool} على {server} يوشك أن تنتهي مدته بلا قرار.",
  "trail.approval_decided.allowed": "سُمح بـ {tool} على {server}{by}{via}.",
  "trail.approval_decided.denied": "لم يُسمح بـ {tool} على {server}{by}{via}.",
  "trail.approval_closed": "انتهى طلب الإذن لـ {tool} على {server} بلا قرار.",
  "trail.approval_revoked": "أُلغي إذن لـ {tool} على {server}{by}.",
  "trail.disabled": "أُلغيت صلاحية دخولك{by}.",
  "trail.enabled": "أُعيدت صلاحية دخولك{by}.",
  "trail.erased": "حُذف ما كان محفوظًا عنك{by}.",
  "trail.credential_read": "استُخدم تسجيل دخول لك مع {server}.",
  "trail.other": "حدث شيء من النوع {kind}.",
  "trail.by.you": " من قِبلك",
  "trail.by.machine": " من قِبل Parley",
  "trail.by": " من قِبل {who}",
  "trail.a-tool": "أداة",
  "trail.a-server": "خادم",
  "trail.end.done": "تم",
  "trail.end.failed": "فشل",
  "trail.end.stopped": "أُوقف",
  "trail.end.expired": "بلا إجابة",
  "trail.end.interrupted": "انقطع",
  "trail.end.lapsed": "لم يعد الخادم يتابعه",
  "trail.end.denied": "غير مسموح",
  "server.connected": "متصل",
  "server.idle": "غير مستخدم",
  "server.failed": "تعذّر الوصول إليه",
  "server.more": "التفاصيل",
  "server.address": "العنوان",
  "server.revision": "البروتوكول",
  "server.note": "ملاحظة",
  "chat.title": "محادثة",
  "question.title": "سؤال",
  "chat.empty": "شغّل أداة",
  "chat.empty.text": "قد يسألك خادم الأداة شيئًا أثناء العمل. تظهر أسئلته هنا، ولا يُرسل شيء قبل أن تقول ذلك.",
  "picker.title": "اختر أداة",
  "picker.another": "تشغيل أداة أخرى",
  "picker.no-model": "لا يوجد نموذج متصل: اختر أداة واملأ مُدخلاتها بنفسك.",
  "picker.no-servers": "لا توجد خوادم. أضف خادمًا إلى ملف الخوادم وأعد تشغيل Parley.",
  "picker.server": "الخادم",
  "picker.server-one": "الخادم: {server}",
  "picker.loading": "يُسأل {server} عن أدواته",
  "picker.no-tools": "لا يقدم {server} أي أدوات.",
  "picker.retry": "إعادة المحاولة",
  "picker.find": "البحث عن أداة",
  "picker.tools": "أدوات {server}",
  "picker.changed": "تغيّرت منذ رأيتها آخر مرة",
  "picker.on": "على {server}",
  "picker.no-arguments": "لا تأخذ هذه الأداة أي مُدخلات.",
  "picker.run": "تشغيل {tool}",
  "picker.running": "جارٍ البدء",
  "picker.other": "اختيار أداة أخرى",
  "tool.titled": "«{title}»",
  "call.ran": "شغّلت {tool} على {server}",
  "call.ran.at": "شغّلت {tool} على {server} ({place})",
  "call.model": "طلب نموذجٌ {tool} على {server}",
  "call.replaces": "هذا يعيد تشغيل استدعاء سابق.",
  "call.replaces.show": "عرض الاستدعاء السابق",
  "call.no-arguments": "بلا مُدخلات.",
  "call.decline-rest": "رفض الباقي",
  "call.stop": "إيقاف",
  "call.run-again": "تشغيل مرة أخرى",
  "call.run-again.hint": "يبدأ التشغيل مرة أخرى استدعاءً جديدًا بالمُدخلات نفسها. تُملأ الإجابات التي قدمتها؛ ولا يُرسل شيء قبل أن ترسله.",
  "state.new": "قيد التحضير",
  "state.approving": "ينتظر الإذن",
  "state.ready": "على وشك الإرسال",
  "state.claimed": "على وشك الإرسال",
  "state.sent": "يعمل على {server}",
  "state.waiting": "ينتظرك",
  "state.waiting.rest": "ينتظر الباقي",
  "state.asks": { zero: "لا ينتظر {server} أي إجابة", one: "{server} ينتظر إجابتك", two: "{server} ينتظر إجابتين منك", few: "{server} ينتظر {n} إجابات منك", many: "{server} ينتظر {n} إجابة منك", other: "{server} ينتظر {n} إجابة منك" },
  "state.blocked": "لا يمكنه المتابعة بعد",
  "state.uncertain": "لا يُعرف هل حدث هذا",
  "state.done": "تم",
  "state.done.wrong": "انتهى بخطأ",
  "state.failed": "فشل",
  "state.denied": "غير مسموح",
  "state.stopped": "أُوقف",
  "state.expired": "انتهى بلا إجابة",
  "state.interrupted": "انقطع",
  "state.lapsed": "لم يعد الخادم يتابع هذا",
  "why.new": "يجري تحضير الاستدعاء.",
  "why.approving": "يجب أن يسمح شخص بهذا الاستدعاء قبل إرساله.",
  "why.ready": "يُرسل الاستدعاء إلى {server} بعد لحظة.",
  "why.claimed": "يُرسل الاستدعاء إلى {server} بعد لحظة.",
  "why.sent": "ينتظر Parley إجابة {server}.",
  "why.waiting": { zero: "يُستأنف الاستدعاء بعد قليل.", one: "يُستأنف الاستدعاء عندما تجيب عن السؤال أعلاه. يمكنك إغلاق هذه الصفحة: يبقى السؤال مفتوحًا.", two: "يُستأنف الاستدعاء عندما تجيب عن السؤالين أعلاه. يمكنك إغلاق هذه الصفحة: يبقيان مفتوحين.", few: "يُستأنف الاستدعاء عندما تجيب عن الأسئلة أعلاه. يمكنك إغلاق هذه الصفحة: تبقى مفتوحة.", many: "يُستأنف الاستدعاء عندما تجيب عن الأسئلة أعلاه. يمكنك إغلاق هذه الصفحة: تبقى مفتوحة.", other: "يُستأنف الاستدعاء عندما تجيب عن الأسئلة أعلاه. يمكنك إغلاق هذه الصفحة: تبقى مفتوحة." },
  "why.held": "يُبقي {server} الاتصال مفتوحًا حتى تجيب. يمكنك إغلاق هذه الصفحة: يبقى السؤال مفتوحًا.",
  "why.blocked": "لا يمكن استخدام {server} حاليًا. يُستأنف الاستدعاء حالما يمكن ذلك.",
  "why.uncertain": "أُرسل الاستدعاء ولم تعُد أي إجابة. ربما أنجز {server} العمل وربما لم ينجزه.",
  "why.done": "أجاب {server}.",
  "why.failed": "لم يستطع {server} فعل هذا.",
  "why.denied": "قاعدة في Parley هذا لا تسمح بالاستدعاء. لم يُرسل شيء.",
  "why.stopped": "أوقفت الاستدعاء.",
  "why.expired": "لم يُجب أحد في الوقت المحدد. لم يُرسل شيء آخر.",
  "why.interrupted": "انقطع الاتصال الذي كان الاستدعاء ينتظر عليه. لم تكن أي من إجاباتك قد أُرسلت.",
  "why.lapsed": "لم يعد {server} يقبل العمل المتوقف.",
  "resolve.title": "ماذا يجب أن يُفعل؟",
  "resolve.send-again": "إرسال مرة أخرى",
  "resolve.send-again.hint": "يرسل الاستدعاء نفسه مرة أخرى. إن كان {server} قد أنجز العمل فقد يكرره.",
  "resolve.send-again.held": "يعيد تشغيل {tool} من البداية كاستدعاء جديد. إن كان {server} قد أنجز العمل فقد يكرره. تُملأ إجاباتك لترسلها أنت.",
  "resolve.it-happened": "لقد حدث",
  "resolve.it-happened.hint": "اختر هذا إذا تحققت لدى {server} وكان العمل منجزًا. لا يُرسل شيء.",
  "resolve.give-up": "التخلي عنه",
  "resolve.give-up.hint": "ينهي الاستدعاء على أنه فاشل. لا يُرسل شيء آخر؛ وما فعله {server} يبقى كما هو.",
  "result.title": "إجابة من {server}",
  "result.error": "يقول {server} إن خطأً حدث.",
  "result.protocol": "رفض {server} الاستدعاء.",
  "result.code": "رمز الخطأ {code}",
  "result.empty": "أجاب {server} دون أي نص.",
  "result.structured": "البيانات",
  "result.raw": "الإجابة كاملةً بصيغة JSON",
  "result.large": "إجابة كبيرة، {size}",
  "result.show": "عرضها",
  "result.more": { zero: "ولا أجزاء أخرى.", one: "وجزء آخر لم يُعرض.", two: "وجزآن آخران لم يُعرضا.", few: "و{n} أجزاء أخرى لم تُعرض.", many: "و{n} جزءًا آخر لم تُعرض.", other: "و{n} جزء آخر لم تُعرض." },
  "call.large-arguments": "أُرسل معه الكثير، {size}",
  "call.more-arguments": { zero: "ولا شيء غيرها.", one: "وواحد آخر لم يُعرض.", two: "واثنان آخران لم يُعرضا.", few: "و{n} أخرى لم تُعرض.", many: "و{n} أخرى لم تُعرض.", other: "و{n} أخرى لم تُعرض." },
  "result.long": "نص طويل، عدد المحارف {n}",
  "result.image": "صورة ({name}) لم تُعرض",
  "result.audio": "تسجيل ({name}) لم يُشغَّل",
  "result.link": "رابط إلى {name} لم يُفتح",
  "result.resource": "مرفق: {name}",
  "result.other": "شيء من النوع {name} لا تستطيع هذه الصفحة عرضه",
  "result.bytes": "{n} بايت",
  "card.kind.form": "سؤال",
  "card.kind.url": "طلب لفتح موقع",
  "card.count": "{i} من {of}",
  "card.asks": "{server} يسأل",
  "card.asks.at": "{server} ({place}) يسأل",
  "card.asked": "{server} سأل",
  "card.asked.at": "{server} ({place}) سأل",
  "card.until": "مفتوح حتى {when}.",
  "card.show-all": "عرض المحارف كلها وعددها {n}",
  "card.folded": "تُرك لوقت لاحق. يبقى السؤال مفتوحًا.",
  "card.changed": "غيّر {server} السؤال. انظر إليه مرة أخرى قبل أن ترسل.",
  "card.closed-elsewhere": "أُغلق هذا السؤال في مكان آخر في هذه الأثناء. ما فعلته هنا لم يُرسل؛ والمعتمد مذكور أدناه.",
  "card.read-only": "يمكن الاطلاع عليه هنا دون البت فيه. افتح Parley نفسه لذلك.",
  "card.take-back": "يمكنك تغيير رأيك حتى تُرسل إجاباتك إلى {server}.",
  "approval.kind": "يطلب Parley الإذن",
  "approval.asks.model": "يريد نموذجٌ استخدام {tool} على {server}",
  "approval.asks.model-of": "يريد نموذجٌ لدى {who} استخدام {tool} على {server}",
  "approval.asks.you": "تريد استخدام {tool} على {server}",
  "approval.asks.person": "يريد {who} استخدام {tool} على {server}",
  "approval.asked.model": "أراد نموذجٌ استخدام {tool} على {server}",
  "approval.asked.model-of": "أراد نموذجٌ لدى {who} استخدام {tool} على {server}",
  "approval.asked.you": "أردت استخدام {tool} على {server}",
  "approval.asked.person": "أراد {who} استخدام {tool} على {server}",
  "approval.server": "الخادم",
  "approval.local": "(هذا الحاسوب)",
  "approval.tool": "الأداة",
  "approval.prompt": "القالب",
  "approval.resource": "المورد",
  "approval.why": "لماذا تُسأل",
  "approval.why.rule": "قاعدة في Parley هذا تسأل شخصًا أولًا.",
  "approval.rule": "القاعدة: {rule}",
  "approval.sent": "ما يُرسل إلى {server}",
  "approval.json": "هذا بالضبط، بصيغة JSON",
  "approval.more": { zero: "ولا قيم أخرى.", one: "وقيمة أخرى يعرضها JSON أدناه.", two: "وقيمتان أخريان يعرضهما JSON أدناه.", few: "و{n} قيم أخرى يعرضها JSON أدناه.", many: "و{n} قيمة أخرى يعرضها JSON أدناه.", other: "و{n} قيمة أخرى يعرضها JSON أدناه." },
  "approval.large": "سيُرسل الكثير ({size}). انظر إليه قبل أن تقرر.",
  "approval.about": "ما يقوله {server} عن الأداة",
  "approval.answered": { zero: "لم تُجب عن أي سؤال.", one: "أجبت عن سؤال، وستُرسل إجابتك الآن:", two: "أجبت عن سؤالين، وستُرسل إجابتاك الآن:", few: "أجبت عن أسئلة، وستُرسل إجاباتك الآن:", many: "أجبت عن أسئلة، وستُرسل إجاباتك الآن:", other: "أجبت عن أسئلة، وستُرسل إجاباتك الآن:" },
  "approval.answered.other": { zero: "لم يُجب الطالب عن أي سؤال.", one: "أجاب الطالب عن سؤال، وستُرسل الإجابة الآن:", two: "أجاب الطالب عن سؤالين، وستُرسل الإجابتان الآن:", few: "أجاب الطالب عن أسئلة، وستُرسل الإجابات الآن:", many: "أجاب الطالب عن أسئلة، وستُرسل الإجابات الآن:", other: "أجاب الطالب عن أسئلة، وستُرسل الإجابات الآن:" },
  "approval.decide": "اتخاذ القرار",
  "approval.allow.once": "السماح مرة واحدة",
  "approval.allow.conversation": "السماح في هذه المحادثة",
  "approval.allow.always": "السماح بهذه الأداة دائمًا",
  "approval.deny": "عدم السماح",
  "approval.help.once": "يُرسل هذا الاستدعاء إلى {server}، ولا يُرسل غيره.",
  "approval.help.conversation": "يُرسل هذا الاستدعاء، واستدعاءات أخرى لهذه الأداة بعينها في هذه المحادثة دون سؤالك.",
  "approval.help.always": "يُرسل هذا الاستدعاء، واستدعاءات أخرى لهذه الأداة بعينها في كل محادثاتك دون سؤالك. إذا غيّر {server} الأداة تُسأل من جديد. يمكنك إلغاء ذلك.",
  "approval.help.deny": "ينتهي الاستدعاء. لا يُرسل شيء آخر إلى {server}.",
  "approval.waits.group": "بانتظار أحد أعضاء المجموعة {group}.",
  "approval.waits.person": "بانتظار {who}.",
  "approval.waits.not-you": "لا يجوز لمن طلب أن يقرر.",
  "approval.until": "مفتوح حتى {when}. دون قرار لا يُرسل شيء آخر.",
  "approval.allowed.once": "سمحت بهذا الاستدعاء {at}{via}.",
  "approval.allowed.conversation": "سمحت بهذه الأداة في المحادثة {at}{via}.",
  "approval.allowed.always": "سمحت بهذه الأداة دائمًا {at}{via}.",
  "approval.denied": "لم تسمح به {at}{via}. لم يُرسل شيء آخر.",
  "approval.allowed.once.by": "سمح {who} بهذا الاستدعاء {at}.",
  "approval.allowed.conversation.by": "سمح {who} بهذه الأداة في المحادثة {at}.",
  "approval.allowed.always.by": "سمح {who} بهذه الأداة دائمًا {at}.",
  "approval.denied.by": "لم يسمح به {who} {at}. لم يُرسل شيء آخر.",
  "approval.expired": "لم يقرر أحد حتى ذلك الحين: انتهى {at}. لم يُرسل شيء آخر.",
  "approval.withdrawn": "لم تعد هناك حاجة إلى إذن، لأن الاستدعاء انتهى.",
  "approval.closed-elsewhere": "تقرر هذا في مكان آخر في هذه الأثناء. ما فعلته هنا لا يُحتسب؛ والمعتمد مذكور أدناه.",
  "approval.revoke": "إلغاء الإذن",
  "approval.revoke.hint": "بعد ذلك تُسأل من جديد.",
  "action.send": "إرسال إلى {server}",
  "action.accept": "القبول وإبلاغ {server}",
  "action.review": "مراجعة الإجابات",
  "action.change": "تغيير",
  "action.decline": "رفض",
  "action.cancel": "إلغاء السؤال",
  "action.later": "ليس الآن",
  "action.unfold": "الإجابة الآن",
  "action.take-back": "سحب",
  "help.title": "ماذا تفعل هذه الأزرار؟",
  "help.decline": "يُبلَّغ {server} بأنك تقول لا.",
  "help.cancel": "يُبلَّغ {server} بأنك أغلقت السؤال دون قرار.",
  "help.later": "لا يُرسل شيء. يبقى السؤال مفتوحًا، هنا وفي صندوق الوارد.",
  "review.title": "راجع ما سيُرسل إلى {server}",
  "review.nothing": "لا تُرسل أي قيم، بل قبولك فقط.",
  "review.empty": "فارغ",
  "review.default": "اقترحه {server}",
  "review.default.argument": "القيمة الافتراضية",
  "review.earlier": "من إجابتك السابقة",
  "review.omitted": "بلا إجابة، لم يُرسل: {list}",
  "record.sent": "أرسلت هذا {at}{via}.",
  "record.agreed": "قبلت {at}{via}.",
  "record.opened": "وافقت على فتح {domain} {at}{via}.",
  "record.completed": "قال {server} {at} إنك انتهيت على {domain}.",
  "record.declined": "رفضت {at}{via}. لم يُرسل شيء مما كتبته.",
  "record.cancelled": "ألغيت هذا السؤال {at}{via}. لم يُرسل شيء مما كتبته.",
  "record.expired": "لم يُجب أحد في الوقت المحدد، فانتهى السؤال {at}.",
  "record.withdrawn": "سحب {server} السؤال. لم يُرسل شيء.",
  "closed.server": "سحب {server} السؤال. لم يُرسل شيء.",
  "closed.stop": "انتهى السؤال لأنك أوقفت الاستدعاء. لم يُرسل شيء.",
  "closed.call_ended": "انتهى السؤال لأن استدعاءه انتهى. لم يُرسل شيء.",
  "closed.policy": "انتهى السؤال لأن قاعدة في Parley هذا لم تعد تسمح بالاستدعاء. لم يُرسل شيء.",
  "closed.host_stopped": "انتهى السؤال لأن الاتصال بـ {server} انقطع. لم يُرسل شيء.",
  "via.chat": " في هذه المحادثة",
  "via.inbox": " من صندوق الوارد",
  "via.api": " عبر برنامج آخر",
  "via.terminal": " في نافذة أوامر",
  "time.today": "في {time}",
  "time.day": "في {date}، {time}",
  "form.left-out": "لم يُسأل عنه، لأنه لا يمكن عرضه هنا:",
  "form.no-view": "لا يمكن عرض السؤال كنموذج.",
  "form.stopped": "يجب الإجابة عن «{label}» ولا يمكن عرضه: {reason}",
  "form.cannot-send": "لا يمكن إرسال هذا.",
  "field.optional": "(اختياري)",
  "field.error": "خطأ:",
  "field.suggested": "اقترحه {server}",
  "field.default": "مُلئ بالقيمة الافتراضية",
  "field.earlier": "من إجابتك السابقة",
  "field.secret": "لا يجوز لـ {server} أن يسأل عن هذا في نموذج. لا تكتب هنا كلمة مرور ولا مفتاحًا ولا رقم بطاقة.",
  "field.secret.argument": "ما تكتبه هنا يظهر في المحادثة. لا تكتب كلمة مرور ولا مفتاحًا ولا رقم بطاقة.",
  "field.undrawable": "تُرك:",
  "field.undrawable.required": "تجب الإجابة عنه، لكن لا يمكن عرضه هنا:",
  "field.send-empty": "إرساله فارغًا عمدًا",
  "inbox.none": "لا أسئلة بانتظارك",
  "inbox.waiting": { zero: "لا أسئلة بانتظارك", one: "سؤال واحد بانتظارك", two: "سؤالان بانتظارك", few: "{n} أسئلة بانتظارك", many: "{n} سؤالًا بانتظارك", other: "{n} سؤال بانتظارك" },
  "inbox.permissions": { zero: "لا أذونات للبت فيها", one: "إذن واحد للبت فيه", two: "إذنان للبت فيهما", few: "{n} أذونات للبت فيها", many: "{n} إذنًا للبت فيها", other: "{n} إذن للبت فيها" },
  "inbox.both": "{questions}، {permissions}",
  "inbox.about": "ما ينتظرك في كل محادثاتك، الأقدم أولًا.",
  "inbox.of-others": "من {who}",
  "refusals.text": { zero: "لم يُحجب أي سؤال من {server}.", one: "لم يُعرض سؤال من {server}: كانت الأسئلة أكثر من اللازم أو أكبر منه، أو لا تسمح بها القواعد هنا.", two: "لم يُعرض سؤالان من {server}: كانت الأسئلة أكثر من اللازم أو أكبر منه، أو لا تسمح بها القواعد هنا.", few: "لم تُعرض {n} أسئلة من {server}: كانت الأسئلة أكثر من اللازم أو أكبر منه، أو لا تسمح بها القواعد هنا.", many: "لم يُعرض {n} سؤالًا من {server}: كانت الأسئلة أكثر من اللازم أو أكبر منه، أو لا تسمح بها القواعد هنا.", other: "لم يُعرض {n} سؤال من {server}: كانت الأسئلة أكثر من اللازم أو أكبر منه، أو لا تسمح بها القواعد هنا." },
  "refusals.since": "منذ {at}.",
  "refusals.title": "أسئلة لم تُعرض",
  "refusals.stop": "إيقاف كل ما لدى {server}",
  "refusals.clear": "مفهوم",
  "refusals.stopped": { zero: "لم يُوقف أي استدعاء لدى {server}.", one: "أُوقف استدعاء واحد لدى {server}.", two: "أُوقف استدعاءان لدى {server}.", few: "أُوقفت {n} استدعاءات لدى {server}.", many: "أُوقف {n} استدعاءً لدى {server}.", other: "أُوقف {n} استدعاء لدى {server}." },
  "inbox.context": "أثناء تشغيل {tool}",
  "inbox.show": "عرض المحادثة",
  "limit.whole": "عدد صحيح",
  "limit.whole.between": "عدد صحيح بين {min} و{max}",
  "limit.whole.least": "عدد صحيح، {min} أو أكثر",
  "limit.whole.most": "عدد صحيح، {max} أو أقل",
  "limit.between": "عدد بين {min} و{max}",
  "limit.least": "عدد، {min} أو أكثر",
  "limit.most": "عدد، {max} أو أقل",
  "limit.above": "أكثر من {min}",
  "limit.below": "أقل من {max}",
  "limit.multiple": "من مضاعفات {of}",
  "limit.items.any": "اختر كل ما ينطبق",
  "limit.items.exactly": "اختر {n}",
  "limit.items.between": "اختر من {min} إلى {max}",
  "limit.items.least": "اختر {n} أو أكثر",
  "limit.items.most": "اختر {n} على الأكثر",
  "limit.uri": "عنوان موقع، مثل https://example.com/page",
  "limit.json": "مكتوب بصيغة JSON",
  "count.left": { zero: "لم تبقَ محارف", one: "بقي محرف واحد", two: "بقي محرفان", few: "بقيت {n} محارف", many: "بقي {n} محرفًا", other: "بقي {n} محرف" },
  "count.over": { zero: "لا محارف زائدة", one: "محرف واحد زائد", two: "محرفان زائدان", few: "{n} محارف زائدة", many: "{n} محرفًا زائدًا", other: "{n} محرف زائد" },
  "choice.yes": "نعم",
  "choice.no": "لا",
  "choice.none": "بلا إجابة",
  "choice.empty": "(فارغ)",
  "choice.filter": "تصفية الخيارات",
  "choice.shown": "عُرض {n} من {total}",
  "date.day": "اليوم",
  "date.month": "الشهر",
  "date.year": "السنة",
  "date.example": "مثلًا، {example}",
  "date.time": "الوقت (24 ساعة)",
  "date.zone": "المنطقة الزمنية",
  "date.own": "{zone}، الآن UTC{offset}",
  "date.echo": "سيُرسل على أنه {value}",
  "date.twice": "تُؤخَّر الساعات تلك الليلة، فيتكرر هذا الوقت مرتين. أيهما تقصد؟",
  "date.first": "الأول (UTC{offset})",
  "date.second": "الثاني (UTC{offset})",
  "date.unreal": "يجب أن يكون {label} تاريخًا حقيقيًا بسنة من أربعة أرقام",
  "date.untimed": "يجب أن يتضمن {label} وقتًا، مثل 14:30",
  "date.gap": "{label} غير موجود في ذلك اليوم: الساعات في {zone} تتخطى تلك الساعة",
  "date.which": "اختر أي الوقتين تقصد في {label}",
  "link.website": "الموقع:",
  "link.ascii": "(يُكتب {name} في العناوين)",
  "link.letters": "(بالحروف: {name})",
  "link.none": "لا عنوان في الطلب.",
  "link.rewritten": "تكتب المتصفحات هذا العنوان بطريقة أخرى. أُرسل هكذا",
  "link.refuse": "لم يُفتح:",
  "link.warn": "تحذير:",
  "link.note": "ملاحظة:",
  "link.differs": "يقرأ هذا المتصفح العنوان بطريقة غير طريقة Parley.",
  "link.never": "لا يفتح Parley هذا العنوان. يمكنك رفض الطلب أو إلغاؤه.",
  "link.insecure": "لم تُحمَّل هذه الصفحة عبر اتصال آمن، لذلك لا تفتح مواقع. استخدم Parley عبر https أو على 127.0.0.1.",
  "link.open": "فتح {site} في علامة تبويب جديدة",
  "link.open-anyway": "فتح {site} رغم ذلك",
  "link.again": "فتح مرة أخرى",
  "link.copy": "نسخ العنوان",
  "link.copied": "نُسخ العنوان",
  "link.copy-failed": "لم يسمح المتصفح بالنسخ. العنوان محدد: انسخه بلوحة المفاتيح.",
  "link.sure": "هل أنت متأكد؟",
  "link.sure.text": "هناك تحذير بشأن هذا العنوان. لا تفتحه إلا إذا كنت تتوقع أن يرسلك {server} إلى {site}.",
  "link.back": "عدم الفتح",
  "link.opened": "عندما تنتهي على {site}، أخبرنا هنا. ثم يتحقق {server} من إتمامه.",
  "link.finished": "انتهيت",
  "link.nothing-opened": "لم يُفتح شيء؟ انسخ العنوان وافتحه بنفسك.",
  "link.forward": "قد يحيلك الموقع إلى عناوين أخرى لا يستطيع Parley فحصها.",
  "link.held": "الفتح يُبلغ {server} بأنك وافقت.",
  "link.completed": "يقول {server} إنك انتهيت هناك.",
  "link.held.waits": "أتمم الأمر على الموقع. يتابع {server} من تلقاء نفسه عند إتمامه هناك.",
  "sign-out.button": "تسجيل الخروج من {server}",
  "sign-out.revoked": "تم تسجيل خروجك من {server}، وأكّد الخادم أن ما سمحت به قد انتهى.",
  "sign-out.pending": "تم تسجيل خروجك من {server} هنا. لم يؤكَّد بعد أن ما سمحت به قد انتهى؛ يعيد Parley السؤال لمدة أسبوع.",
  "sign-out.not_offered": "تم تسجيل خروجك من {server} هنا. لا يمكن إبلاغ الخادم بذلك؛ وينتهي ما سمحت به عندما ينهيه هو.",
  "sign-out.nothing": "لم تكن مسجّل الدخول إلى {server}.",
  "trail.signed_in": "سجّلت الدخول إلى {server}{via}.",
  "trail.signed_in.other_account": "سجّلت الدخول إلى {server} بحساب غير الحساب السابق{via}.",
  "trail.signed_out": "سجّلت الخروج من {server}{via}.",
  "trail.not_revoked": "لم يؤكد {server} بعد أن تسجيل دخولك قد انتهى.",
  "trail.not_revoked.gave_up": "لم يؤكد {server} قط أن تسجيل دخولك قد انتهى؛ وتوقف Parley عن السؤال.",
  "server.sign_in": "يطلب تسجيل الدخول",
  "picker.new": "جديدة منذ آخر مرة نظرت",
  "picker.seen": "اطلعت على هذا",
  "picker.seen-all": { zero: "لا تغييرات", one: "تعليم تغيير واحد كمطّلع عليه", two: "تعليم تغييرين كمطّلع عليهما", few: "تعليم {n} تغييرات كمطّلع عليها", many: "تعليم {n} تغييرًا كمطّلع عليها", other: "تعليم {n} تغيير كمطّلع عليها" },
  "change.tool": "تغيّرت هذه الأداة منذ آخر مرة رأيتها أو سمحت بها.",
  "change.approval": "تغيّرت هذه الأداة منذ آخر مرة سمحت بها أو رأيتها.",
  "change.approval.other": "تغيّرت هذه الأداة منذ آخر مرة رآها الطالب أو سُمح له بها.",
  "change.new": "هذه الأداة جديدة: لم تكن موجودة من قبل.",
  "change.description": "ما يقوله الخادم عنها",
  "change.input_schema": "مُدخلاتها",
  "change.annotations": "ما تقوله عن آثارها",
  "change.before": "قبل",
  "change.after": "الآن",
  "change.nothing": "(لا شيء)",
  "change.unknown": "(لم يعد معروفًا)",
  "change.cut": "هناك أكثر مما يُعرض هنا."
};

// src/lib/de.ts
var de = {
  "product": "Parley",
  "loading": "Wird geladen",
  "error.status": "Parley hat mit einem Fehler geantwortet ({status}).",
  "error.unreachable": "Parley hat nicht geantwortet. Nichts ist verloren: Was Sie eingegeben haben, ist noch da. Versuchen Sie es gleich noch einmal.",
  "error.unexpected": "Auf dieser Seite ist etwas schiefgegangen. Laden Sie sie neu: Was Sie eingegeben haben, bleibt erhalten.",
  "error.summary": "Es gibt ein Problem",
  "connection.lost": "Verbindung zu Parley verloren, neuer Versuch läuft",
  "connection.back": "Wieder mit Parley verbunden",
  "said.asks": "{server} fragt: {message}",
  "said.ended": "{tool} auf {server} ist beendet",
  "said.approval": "Ihre Erlaubnis wird gebraucht: {tool} auf {server}",
  "said.notify": "{server} fragt Sie etwas",
  "said.notify.approval": "Parley braucht Ihre Erlaubnis",
  "who.local": "dieser Computer",
  "sign-in.as": "Angemeldet als {account}",
  "sign-in.button": "Bei {server} anmelden",
  "sign-in.where": "Um sich bei {server} anzumelden, gehen Sie in einem neuen Tab zu {site}. Prüfen Sie, ob Sie dort Ihr Konto haben.",
  "sign-in.scopes": "Erbeten wird die Erlaubnis für: {scopes}",
  "sign-in.go": "Zu {site} gehen",
  "server-sign-in.title": "Anmeldung bei einem Server",
  "server-sign-in.busy": "Einen Moment …",
  "server-sign-in.empty": "In dieser Adresse steckt keine Anmeldung. Gehen Sie zurück zu Parley und melden Sie sich von dort an.",
  "server-sign-in.out": "Dieser Browser ist nicht bei Parley angemeldet. Melden Sie sich hier bei Parley an, oder gehen Sie zu dem Browser zurück, in dem Sie angefangen haben; versuchen Sie es dann noch einmal. Noch ist nichts verloren.",
  "server-sign-in.again": "Noch einmal versuchen",
  "server-sign-in.denied": "{server} darf nicht für Sie handeln. Nichts hat sich geändert.",
  "server-sign-in.done": "Sie sind bei {server} angemeldet.",
  "server-sign-in.done.as": "Sie sind bei {server} als {account} angemeldet.",
  "server-sign-in.resumed": { one: "Der Aufruf, der darauf gewartet hat, geht weiter.", other: "{n} Aufrufe, die darauf gewartet haben, gehen weiter." },
  "server-sign-in.missing": "Nicht alles wurde erlaubt; es fehlt: {scopes}.",
  "server-sign-in.other": "Sie sind als {account} zurückgekommen und waren bei {server} als {before} angemeldet. Welches Konto soll von jetzt an gelten?",
  "server-sign-in.keep": "Das bisherige behalten",
  "server-sign-in.replace": "Das neue verwenden",
  "server-sign-in.unknown": "jemand Unbekanntes",
  "server-sign-in.back": "Zurück zu Parley",
  "signin.title": "Sie sind nicht angemeldet",
  "signin.text": "Parley meldet Sie über eine Adresse an, die es beim Start ausgibt. Starten Sie es in einem Terminal auf diesem Computer:",
  "signin.running": "Oder lassen Sie es, wenn es schon läuft, eine neue Adresse ausgeben:",
  "signin.address": "Öffnen Sie dann die Adresse. Sie sieht so aus:",
  "signin.once": "Jede Adresse meldet einmal an. Danach bleibt dieser Browser angemeldet, auch wenn Parley neu gestartet wird.",
  "signin.refused": "Parley nimmt die Anmeldung dieses Browsers nicht mehr an. Öffnen Sie eine neue Adresse, um sich wieder anzumelden.",
  "signin.forget": "Die alte Anmeldung vergessen",
  "page.skip": "Zur Unterhaltung springen",
  "page.side": "Unterhaltungen und Server",
  "page.menu": "Menü",
  "page.new": "Neue Unterhaltung",
  "page.conversations": "Unterhaltungen",
  "page.conversations.older": "Ältere",
  "page.conversations.none": "Noch keine. Eine Unterhaltung beginnt mit dem ersten Werkzeug, das Sie ausführen.",
  "page.servers": "Server",
  "page.untitled": "Unterhaltung ohne Titel",
  "page.who": "Angemeldet: {name}",
  "page.sign-out": "Abmelden",
  "page.more": "Mehr",
  "page.permissions": "Erlaubnisse",
  "page.trail": "Ihr Protokoll",
  "page.notify": "In diesem Browser benachrichtigen",
  "page.notify.on": "Benachrichtigungen sind an, solange diese Seite offen und nicht im Blick ist. Sie sagen, wer fragt, nie was.",
  "page.notify.off": "Sagt Ihnen, wenn eine Frage kommt, während diese Seite offen und nicht im Blick ist.",
  "page.notify.denied": "Der Browser erlaubt keine Benachrichtigungen dieser Seite.",
  "disabled.title": "Sie dürfen das nicht mehr benutzen",
  "disabled.text": "Wer dieses Parley betreibt, hat Ihnen den Zugang entzogen. Ihre offenen Aufrufe sind beendet, und für Sie wird nichts mehr gesendet.",
  "permissions.title": "Erlaubnisse, die gelten",
  "permissions.about": "Werkzeuge, die ein Modell für Sie verwenden darf, ohne noch einmal zu fragen. Jede gilt für genau das Werkzeug, wie es war: Ändert der Server es, werden Sie gefragt.",
  "permissions.none": "Es gibt keine. Vor jeder Verwendung eines Werkzeugs, das eine Erlaubnis braucht, wird gefragt.",
  "permissions.tool": "{tool} auf {server}",
  "permissions.always": "In allen Ihren Unterhaltungen, seit {at}",
  "permissions.conversation": "In einer Unterhaltung, seit {at}",
  "permissions.show": "Die Unterhaltung zeigen",
  "permissions.revoke": "Widerrufen",
  "permissions.revoke.of": "{tool} auf {server} widerrufen",
  "permissions.revoked": "Widerrufen: Zu {tool} auf {server} werden Sie wieder gefragt.",
  "trail.title": "Ihr Protokoll",
  "trail.about": "Was mit Ihren Aufrufen geschah, das Neueste zuerst. Es enthält keine Argumente und keine Antworten.",
  "trail.none": "Noch ist nichts geschehen.",
  "trail.more": "Ältere Einträge zeigen",
  "trail.end": "Das ist alles.",
  "trail.list": "Einträge",
  "trail.composed": "Sie haben {tool} auf {server} aufgerufen.",
  "trail.composed.model": "Ein Modell wollte für Sie {tool} auf {server} aufrufen.",
  "trail.allowed": "{tool} auf {server} wurde von einer anderen Regel oder Erlaubnis zugelassen als zuvor.",
  "trail.permission": "Eine erteilte Erlaubnis galt dafür.",
  "trail.asked": "{server} hat Ihnen eine Frage gestellt.",
  "trail.asked.url": "{server} hat Sie gebeten, eine Website zu öffnen.",
  "trail.refused": { one: "Eine Frage von {server} wurde nicht gezeigt: Die Regeln dieses Hosts lassen sie nicht zu.", other: "{n} Fragen von {server} wurden nicht gezeigt: Die Regeln dieses Hosts lassen eine davon nicht zu." },
  "trail.shown": "Die Frage von {server} wurde Ihnen gezeigt{via}.",
  "trail.shown.approval": "Die Bitte um Erlaubnis für {tool} auf {server} wurde gezeigt{by}{via}.",
  "trail.expiring": "Eine Frage von {server} läuft bald ohne Antwort ab.",
  "trail.opened": "Sie haben zugestimmt, für {server} eine Adresse zu öffnen{via}.",
  "trail.answered.accepted": "Sie haben {server} geantwortet{via}.",
  "trail.answered.declined": "Sie haben eine Frage von {server} abgelehnt{via}.",
  "trail.answered.cancelled": "Sie haben eine Frage von {server} abgebrochen{via}.",
  "trail.answered": "Sie haben {server} geantwortet{via}.",
  "trail.checked": "Eine Antwort an {server} passte nicht zur Frage und wurde nicht angenommen.",
  "trail.taken_back": "Sie haben eine Antwort an {server} zurückgenommen{via}.",
  "trail.delivered": { one: "Eine Antwort wurde an {server} gesendet.", other: "{n} Antworten wurden an {server} gesendet." },
  "trail.closed": "Eine Frage von {server} endete ohne Antwort.",
  "trail.closed.accepted": "Eine Frage von {server} hat sich erledigt.",
  "trail.completed": "{server} hat gesagt, dass Sie auf einer Website fertig sind.",
  "trail.blocked": "{tool} auf {server} kann noch nicht weitergehen.",
  "trail.uncertain": "Es ist nicht bekannt, ob {tool} auf {server} geschehen ist.",
  "trail.finished": "{tool} auf {server} ist beendet: {state}.",
  "trail.denied": "{tool} auf {server} wurde nicht erlaubt.",
  "trail.stopped": "{tool} auf {server} wurde angehalten{by}.",
  "trail.resolved": "Sie haben entschieden, was aus {tool} auf {server} wurde.",
  "trail.approval_asked": "Um Erlaubnis für {tool} auf {server} wurde gebeten.",
  "trail.approval_expiring": "Die Bitte um Erlaubnis für {tool} auf {server} läuft bald ohne Entscheidung ab.",
  "trail.approval_decided.allowed": "{tool} auf {server} wurde erlaubt{by}{via}.",
  "trail.approval_decided.denied": "{tool} auf {server} wurde nicht erlaubt{by}{via}.",
  "trail.approval_closed": "Die Bitte um Erlaubnis für {tool} auf {server} endete ohne Entscheidung.",
  "trail.approval_revoked": "Eine Erlaubnis für {tool} auf {server} wurde widerrufen{by}.",
  "trail.disabled": "Ihr Zugang wurde entzogen{by}.",
  "trail.enabled": "Ihr Zugang wurde zurückgegeben{by}.",
  "trail.erased": "Was von Ihnen gespeichert war, wurde entfernt{by}.",
  "trail.credential_read": "Eine Ihrer Anmeldungen wurde für {server} verwendet.",
  "trail.other": "Etwas der Art {kind} ist geschehen.",
  "trail.by.you": " von Ihnen",
  "trail.by.machine": " von Parley",
  "trail.by": " von {who}",
  "trail.a-tool": "Ein Werkzeug",
  "trail.a-server": "ein Server",
  "trail.end.done": "erledigt",
  "trail.end.failed": "fehlgeschlagen",
  "trail.end.stopped": "angehalten",
  "trail.end.expired": "ohne Antwort",
  "trail.end.interrupted": "unterbrochen",
  "trail.end.lapsed": "der Server setzt es nicht mehr fort",
  "trail.end.denied": "nicht erlaubt",
  "server.connected": "verbunden",
  "server.idle": "nicht in Gebrauch",
  "server.failed": "nicht erreichbar",
  "server.more": "Einzelheiten",
  "server.address": "Adresse",
  "server.revision": "Protokoll",
  "server.note": "Hinweis",
  "chat.title": "Unterhaltung",
  "question.title": "Frage",
  "chat.empty": "Ein Werkzeug ausführen",
  "chat.empty.text": "Der Server des Werkzeugs fragt Sie unterwegs vielleicht etwas. Seine Fragen erscheinen hier, und nichts wird gesendet, bevor Sie es sagen.",
  "picker.title": "Ein Werkzeug wählen",
  "picker.another": "Ein anderes Werkzeug ausführen",
  "picker.no-model": "Kein Modell ist verbunden: Wählen Sie ein Werkzeug und füllen Sie seine Argumente selbst aus.",
  "picker.no-servers": "Keine Server. Tragen Sie einen in die Serverdatei ein und starten Sie Parley neu.",
  "picker.server": "Server",
  "picker.server-one": "Server: {server}",
  "picker.loading": "{server} wird nach seinen Werkzeugen gefragt",
  "picker.no-tools": "{server} bietet keine Werkzeuge an.",
  "picker.retry": "Noch einmal versuchen",
  "picker.find": "Ein Werkzeug finden",
  "picker.tools": "Werkzeuge von {server}",
  "picker.changed": "Geändert, seit Sie es zuletzt gesehen haben",
  "picker.on": "auf {server}",
  "picker.no-arguments": "Dieses Werkzeug nimmt keine Argumente.",
  "picker.run": "{tool} ausführen",
  "picker.running": "Wird gestartet",
  "picker.other": "Ein anderes Werkzeug wählen",
  "tool.titled": "„{title}“",
  "call.ran": "Sie haben {tool} auf {server} ausgeführt",
  "call.ran.at": "Sie haben {tool} auf {server} ({place}) ausgeführt",
  "call.model": "Ein Modell wollte {tool} auf {server} aufrufen",
  "call.replaces": "Dies führt einen früheren Aufruf noch einmal aus.",
  "call.replaces.show": "Den früheren Aufruf zeigen",
  "call.no-arguments": "Keine Argumente.",
  "call.decline-rest": "Die übrigen ablehnen",
  "call.stop": "Anhalten",
  "call.run-again": "Noch einmal ausführen",
  "call.run-again.hint": "„Noch einmal ausführen“ beginnt einen neuen Aufruf mit denselben Argumenten. Ihre Antworten werden eingetragen; nichts wird gesendet, bevor Sie es senden.",
  "state.new": "Wird vorbereitet",
  "state.approving": "Wartet auf Erlaubnis",
  "state.ready": "Wird gleich gesendet",
  "state.claimed": "Wird gleich gesendet",
  "state.sent": "Läuft auf {server}",
  "state.waiting": "Wartet auf Sie",
  "state.waiting.rest": "Wartet auf die übrigen",
  "state.asks": { one: "{server} wartet auf Ihre Antwort", other: "{server} wartet auf {n} Antworten von Ihnen" },
  "state.blocked": "Kann noch nicht weitergehen",
  "state.uncertain": "Es ist nicht bekannt, ob dies geschehen ist",
  "state.done": "Erledigt",
  "state.done.wrong": "Mit einem Fehler beendet",
  "state.failed": "Fehlgeschlagen",
  "state.denied": "Nicht erlaubt",
  "state.stopped": "Angehalten",
  "state.expired": "Ohne Antwort beendet",
  "state.interrupted": "Unterbrochen",
  "state.lapsed": "Der Server setzt dies nicht mehr fort",
  "why.new": "Der Aufruf wird vorbereitet.",
  "why.approving": "Jemand muss diesen Aufruf erlauben, bevor er gesendet wird.",
  "why.ready": "Der Aufruf wird gleich an {server} gesendet.",
  "why.claimed": "Der Aufruf wird gleich an {server} gesendet.",
  "why.sent": "Parley wartet auf die Antwort von {server}.",
  "why.waiting": { one: "Der Aufruf geht weiter, wenn Sie die Frage oben beantwortet haben. Sie können diese Seite schließen: Die Frage bleibt offen.", other: "Der Aufruf geht weiter, wenn Sie die Fragen oben beantwortet haben. Sie können diese Seite schließen: Sie bleiben offen." },
  "why.held": "{server} hält die Verbindung offen, bis Sie antworten. Sie können diese Seite schließen: Die Frage bleibt offen.",
  "why.blocked": "{server} kann im Moment nicht verwendet werden. Der Aufruf geht weiter, sobald er kann.",
  "why.uncertain": "Der Aufruf wurde gesendet, und es kam keine Antwort. {server} kann die Arbeit getan haben oder nicht.",
  "why.done": "{server} hat geantwortet.",
  "why.failed": "{server} konnte das nicht tun.",
  "why.denied": "Eine Regel dieses Parley erlaubt den Aufruf nicht. Nichts wurde gesendet.",
  "why.stopped": "Sie haben den Aufruf angehalten.",
  "why.expired": "Niemand hat rechtzeitig geantwortet. Weiter wurde nichts gesendet.",
  "why.interrupted": "Die Verbindung, auf der der Aufruf wartete, ist weg. Keine Ihrer Antworten war gesendet.",
  "why.lapsed": "{server} nimmt die unterbrochene Arbeit nicht mehr an.",
  "resolve.title": "Was soll geschehen?",
  "resolve.send-again": "Noch einmal senden",
  "resolve.send-again.hint": "Sendet denselben Aufruf noch einmal. Hatte {server} die Arbeit schon getan, tut er sie vielleicht zweimal.",
  "resolve.send-again.held": "Führt {tool} als neuen Aufruf von vorn aus. Hatte {server} die Arbeit schon getan, tut er sie vielleicht zweimal. Ihre Antworten werden für Sie zum Senden eingetragen.",
  "resolve.it-happened": "Es ist geschehen",
  "resolve.it-happened.hint": "Wählen Sie dies, wenn Sie auf {server} nachgesehen haben und die Arbeit getan ist. Nichts wird gesendet.",
  "resolve.give-up": "Aufgeben",
  "resolve.give-up.hint": "Beendet den Aufruf als fehlgeschlagen. Weiter wird nichts gesendet; was {server} getan hat, bleibt, wie es ist.",
  "result.title": "Antwort von {server}",
  "result.error": "{server} sagt, dass dies schiefgegangen ist.",
  "result.protocol": "{server} hat den Aufruf abgewiesen.",
  "result.code": "Fehlercode {code}",
  "result.empty": "{server} hat ohne Text geantwortet.",
  "result.structured": "Daten",
  "result.raw": "Ganze Antwort als JSON",
  "result.large": "Große Antwort, {size}",
  "result.show": "Zeigen",
  "result.more": { one: "Und {n} weiterer Teil, nicht gezeigt.", other: "Und {n} weitere Teile, nicht gezeigt." },
  "call.large-arguments": "Viel wurde mitgesendet, {size}",
  "call.more-arguments": { one: "Und {n} weiteres, nicht gezeigt.", other: "Und {n} weitere, nicht gezeigt." },
  "result.long": "Langer Text, {n} Zeichen",
  "result.image": "Ein Bild ({name}), nicht gezeigt",
  "result.audio": "Eine Aufnahme ({name}), nicht abgespielt",
  "result.link": "Ein Link zu {name}, nicht geöffnet",
  "result.resource": "Angehängt: {name}",
  "result.other": "Etwas der Art {name}, das diese Seite nicht zeigen kann",
  "result.bytes": "{n} Byte",
  "card.kind.form": "Frage",
  "card.kind.url": "Bitte, eine Website zu öffnen",
  "card.count": "{i} von {of}",
  "card.asks": "{server} fragt",
  "card.asks.at": "{server} ({place}) fragt",
  "card.asked": "{server} hat gefragt",
  "card.asked.at": "{server} ({place}) hat gefragt",
  "card.until": "Offen bis {when}.",
  "card.show-all": "Alle {n} Zeichen zeigen",
  "card.folded": "Für später aufgehoben. Die Frage bleibt offen.",
  "card.changed": "{server} hat die Frage geändert. Sehen Sie sie noch einmal an, bevor Sie senden.",
  "card.closed-elsewhere": "Diese Frage wurde inzwischen anderswo geschlossen. Was Sie hier getan haben, wurde nicht gesendet; was gilt, steht unten.",
  "card.read-only": "Das kann hier angesehen, aber nicht entschieden werden. Öffnen Sie dafür Parley selbst.",
  "card.take-back": "Sie können es sich anders überlegen, bis Ihre Antworten an {server} gesendet werden.",
  "approval.kind": "Parley bittet um Erlaubnis",
  "approval.asks.model": "Ein Modell möchte {tool} auf {server} verwenden",
  "approval.asks.model-of": "Ein Modell von {who} möchte {tool} auf {server} verwenden",
  "approval.asks.you": "Sie möchten {tool} auf {server} verwenden",
  "approval.asks.person": "{who} möchte {tool} auf {server} verwenden",
  "approval.asked.model": "Ein Modell wollte {tool} auf {server} verwenden",
  "approval.asked.model-of": "Ein Modell von {who} wollte {tool} auf {server} verwenden",
  "approval.asked.you": "Sie wollten {tool} auf {server} verwenden",
  "approval.asked.person": "{who} wollte {tool} auf {server} verwenden",
  "approval.server": "Server",
  "approval.local": "(dieser Computer)",
  "approval.tool": "Werkzeug",
  "approval.prompt": "Prompt",
  "approval.resource": "Ressource",
  "approval.why": "Warum Sie gefragt werden",
  "approval.why.rule": "Eine Regel dieses Parley fragt zuerst einen Menschen.",
  "approval.rule": "Regel: {rule}",
  "approval.sent": "Was an {server} gesendet wird",
  "approval.json": "Genau das, als JSON",
  "approval.more": { one: "Und {n} weiterer Wert, den das JSON unten zeigt.", other: "Und {n} weitere Werte, die das JSON unten zeigt." },
  "approval.large": "Viel würde gesendet ({size}). Sehen Sie es an, bevor Sie entscheiden.",
  "approval.about": "Was {server} über das Werkzeug sagt",
  "approval.answered": { one: "Sie haben eine Frage beantwortet, und Ihre Antwort würde jetzt gesendet:", other: "Sie haben Fragen beantwortet, und Ihre Antworten würden jetzt gesendet:" },
  "approval.answered.other": { one: "Wer anfragt, hat eine Frage beantwortet, und die Antwort würde jetzt gesendet:", other: "Wer anfragt, hat Fragen beantwortet, und die Antworten würden jetzt gesendet:" },
  "approval.decide": "Entscheiden",
  "approval.allow.once": "Einmal erlauben",
  "approval.allow.conversation": "In dieser Unterhaltung erlauben",
  "approval.allow.always": "Dieses Werkzeug immer erlauben",
  "approval.deny": "Nicht erlauben",
  "approval.help.once": "Dieser Aufruf wird an {server} gesendet, und kein anderer.",
  "approval.help.conversation": "Dieser Aufruf wird gesendet, und weitere Aufrufe genau dieses Werkzeugs in dieser Unterhaltung, ohne Sie zu fragen.",
  "approval.help.always": "Dieser Aufruf wird gesendet, und weitere Aufrufe genau dieses Werkzeugs in allen Ihren Unterhaltungen, ohne Sie zu fragen. Ändert {server} das Werkzeug, werden Sie wieder gefragt. Sie können es widerrufen.",
  "approval.help.deny": "Der Aufruf endet. Weiter wird nichts an {server} gesendet.",
  "approval.waits.group": "Wartet auf jemanden aus der Gruppe {group}.",
  "approval.waits.person": "Wartet auf {who}.",
  "approval.waits.not-you": "Wer anfragt, darf nicht entscheiden.",
  "approval.until": "Offen bis {when}. Ohne Entscheidung wird weiter nichts gesendet.",
  "approval.allowed.once": "Sie haben diesen Aufruf {at} erlaubt{via}.",
  "approval.allowed.conversation": "Sie haben dieses Werkzeug {at} in der Unterhaltung erlaubt{via}.",
  "approval.allowed.always": "Sie haben dieses Werkzeug {at} für immer erlaubt{via}.",
  "approval.denied": "Sie haben es {at} nicht erlaubt{via}. Weiter wurde nichts gesendet.",
  "approval.allowed.once.by": "{who} hat diesen Aufruf {at} erlaubt.",
  "approval.allowed.conversation.by": "{who} hat dieses Werkzeug {at} in der Unterhaltung erlaubt.",
  "approval.allowed.always.by": "{who} hat dieses Werkzeug {at} für immer erlaubt.",
  "approval.denied.by": "{who} hat es {at} nicht erlaubt. Weiter wurde nichts gesendet.",
  "approval.expired": "Bis dahin hat niemand entschieden: Es endete {at}. Weiter wurde nichts gesendet.",
  "approval.withdrawn": "Eine Erlaubnis wird nicht mehr gebraucht, weil der Aufruf beendet ist.",
  "approval.closed-elsewhere": "Darüber wurde inzwischen anderswo entschieden. Was Sie hier getan haben, zählt nicht; was gilt, steht unten.",
  "approval.revoke": "Widerrufen",
  "approval.revoke.hint": "Von da an werden Sie wieder gefragt.",
  "action.send": "An {server} senden",
  "action.accept": "Annehmen und {server} mitteilen",
  "action.review": "Antworten prüfen",
  "action.change": "Ändern",
  "action.decline": "Ablehnen",
  "action.cancel": "Frage abbrechen",
  "action.later": "Nicht jetzt",
  "action.unfold": "Jetzt antworten",
  "action.take-back": "Zurücknehmen",
  "help.title": "Was tun diese Schaltflächen?",
  "help.decline": "{server} erfährt, dass Sie Nein sagen.",
  "help.cancel": "{server} erfährt, dass Sie die Frage ohne Entscheidung geschlossen haben.",
  "help.later": "Nichts wird gesendet. Die Frage bleibt offen, hier und in Ihrem Eingang.",
  "review.title": "Prüfen Sie, was an {server} gesendet wird",
  "review.nothing": "Es werden keine Werte gesendet, nur dass Sie annehmen.",
  "review.empty": "leer",
  "review.default": "vorgeschlagen von {server}",
  "review.default.argument": "Standardwert",
  "review.earlier": "aus Ihrer früheren Antwort",
  "review.omitted": "Keine Antwort, nicht gesendet: {list}",
  "record.sent": "Sie haben dies {at} gesendet{via}.",
  "record.agreed": "Sie haben {at} angenommen{via}.",
  "record.opened": "Sie haben {at} zugestimmt, {domain} zu öffnen{via}.",
  "record.completed": "{server} hat {at} gesagt, dass Sie auf {domain} fertig sind.",
  "record.declined": "Sie haben {at} abgelehnt{via}. Nichts, was Sie eingegeben haben, wurde gesendet.",
  "record.cancelled": "Sie haben diese Frage {at} abgebrochen{via}. Nichts, was Sie eingegeben haben, wurde gesendet.",
  "record.expired": "Niemand hat rechtzeitig geantwortet; die Frage endete {at}.",
  "record.withdrawn": "{server} hat die Frage zurückgezogen. Nichts wurde gesendet.",
  "closed.server": "{server} hat die Frage zurückgezogen. Nichts wurde gesendet.",
  "closed.stop": "Die Frage endete, weil Sie den Aufruf angehalten haben. Nichts wurde gesendet.",
  "closed.call_ended": "Die Frage endete, weil ihr Aufruf beendet ist. Nichts wurde gesendet.",
  "closed.policy": "Die Frage endete, weil eine Regel dieses Parley den Aufruf nicht mehr erlaubt. Nichts wurde gesendet.",
  "closed.host_stopped": "Die Frage endete, weil die Verbindung zu {server} verloren ging. Nichts wurde gesendet.",
  "via.chat": " (in dieser Unterhaltung)",
  "via.inbox": " (im Eingang)",
  "via.api": " (über ein anderes Programm)",
  "via.terminal": " (in einem Terminal)",
  "time.today": "um {time}",
  "time.day": "am {date} um {time}",
  "form.left-out": "Nicht gefragt, weil es hier nicht gezeigt werden kann:",
  "form.no-view": "Die Frage kann nicht als Formular gezeigt werden.",
  "form.stopped": "„{label}“ muss beantwortet werden und kann nicht gezeigt werden: {reason}",
  "form.cannot-send": "Das kann nicht gesendet werden.",
  "field.optional": "(freiwillig)",
  "field.error": "Fehler:",
  "field.suggested": "Vorgeschlagen von {server}",
  "field.default": "Mit dem Standardwert ausgefüllt",
  "field.earlier": "Aus Ihrer früheren Antwort",
  "field.secret": "{server} darf danach nicht in einem Formular fragen. Geben Sie hier kein Passwort, keinen Schlüssel und keine Kartennummer ein.",
  "field.secret.argument": "Was Sie hier eingeben, steht in der Unterhaltung. Geben Sie kein Passwort, keinen Schlüssel und keine Kartennummer ein.",
  "field.undrawable": "Ausgelassen:",
  "field.undrawable.required": "Muss beantwortet werden, kann hier aber nicht gezeigt werden:",
  "field.send-empty": "Absichtlich leer senden",
  "inbox.none": "Keine Fragen warten",
  "inbox.waiting": { one: "{n} Frage wartet", other: "{n} Fragen warten" },
  "inbox.permissions": { one: "{n} Erlaubnis zu entscheiden", other: "{n} Erlaubnisse zu entscheiden" },
  "inbox.both": "{questions}, {permissions}",
  "inbox.about": "Was in allen Ihren Unterhaltungen auf Sie wartet, das Älteste zuerst.",
  "inbox.of-others": "Von {who}",
  "refusals.text": { one: "{n} Frage von {server} wurde nicht gezeigt: Es war eine zu viel, sie war zu groß, oder die Regeln hier lassen sie nicht zu.", other: "{n} Fragen von {server} wurden nicht gezeigt: Es waren zu viele, sie waren zu groß, oder die Regeln hier lassen sie nicht zu." },
  "refusals.since": "Seit {at}.",
  "refusals.title": "Fragen, die nicht gezeigt wurden",
  "refusals.stop": "Alles von {server} anhalten",
  "refusals.clear": "Verstanden",
  "refusals.stopped": { one: "{n} Aufruf von {server} wurde angehalten.", other: "{n} Aufrufe von {server} wurden angehalten." },
  "inbox.context": "Während {tool} läuft",
  "inbox.show": "Die Unterhaltung zeigen",
  "limit.whole": "Eine ganze Zahl",
  "limit.whole.between": "Eine ganze Zahl von {min} bis {max}",
  "limit.whole.least": "Eine ganze Zahl, mindestens {min}",
  "limit.whole.most": "Eine ganze Zahl, höchstens {max}",
  "limit.between": "Eine Zahl von {min} bis {max}",
  "limit.least": "Eine Zahl, mindestens {min}",
  "limit.most": "Eine Zahl, höchstens {max}",
  "limit.above": "Mehr als {min}",
  "limit.below": "Weniger als {max}",
  "limit.multiple": "Ein Vielfaches von {of}",
  "limit.items.any": "Wählen Sie alles, was zutrifft",
  "limit.items.exactly": "Wählen Sie {n}",
  "limit.items.between": "Wählen Sie {min} bis {max}",
  "limit.items.least": "Wählen Sie mindestens {n}",
  "limit.items.most": "Wählen Sie höchstens {n}",
  "limit.uri": "Eine Webadresse, zum Beispiel https://example.com/page",
  "limit.json": "Als JSON geschrieben",
  "count.left": { one: "Noch {n} Zeichen", other: "Noch {n} Zeichen" },
  "count.over": { one: "{n} Zeichen zu viel", other: "{n} Zeichen zu viel" },
  "choice.yes": "Ja",
  "choice.no": "Nein",
  "choice.none": "Keine Antwort",
  "choice.empty": "(leer)",
  "choice.filter": "Auswahl filtern",
  "choice.shown": "{n} von {total} gezeigt",
  "date.day": "Tag",
  "date.month": "Monat",
  "date.year": "Jahr",
  "date.example": "Zum Beispiel {example}",
  "date.time": "Uhrzeit (24 Stunden)",
  "date.zone": "Zeitzone",
  "date.own": "{zone}, jetzt UTC{offset}",
  "date.echo": "Wird gesendet als {value}",
  "date.twice": "In dieser Nacht werden die Uhren zurückgestellt, also gibt es diese Zeit zweimal. Welche meinen Sie?",
  "date.first": "Die erste (UTC{offset})",
  "date.second": "Die zweite (UTC{offset})",
  "date.unreal": "{label} muss ein wirkliches Datum sein, mit vierstelligem Jahr",
  "date.untimed": "{label} braucht eine Uhrzeit, zum Beispiel 14:30",
  "date.gap": "{label} gibt es an diesem Tag nicht: In {zone} überspringen die Uhren diese Stunde",
  "date.which": "Wählen Sie für {label}, welche der beiden Zeiten Sie meinen",
  "link.website": "Website:",
  "link.ascii": "(in Adressen {name} geschrieben)",
  "link.letters": "(in Buchstaben gezeigt: {name})",
  "link.none": "Die Bitte enthält keine Adresse.",
  "link.rewritten": "Browser schreiben diese Adresse anders. Gesendet wurde sie als",
  "link.refuse": "Nicht geöffnet:",
  "link.warn": "Warnung:",
  "link.note": "Hinweis:",
  "link.differs": "Dieser Browser liest die Adresse anders als Parley.",
  "link.never": "Parley öffnet diese Adresse nicht. Sie können die Bitte ablehnen oder abbrechen.",
  "link.insecure": "Diese Seite wurde nicht über eine sichere Verbindung geladen, deshalb öffnet sie keine Websites. Verwenden Sie Parley über https oder unter 127.0.0.1.",
  "link.open": "{site} in einem neuen Tab öffnen",
  "link.open-anyway": "{site} trotzdem öffnen",
  "link.again": "Noch einmal öffnen",
  "link.copy": "Adresse kopieren",
  "link.copied": "Adresse kopiert",
  "link.copy-failed": "Der Browser hat das Kopieren nicht erlaubt. Die Adresse ist markiert: Kopieren Sie sie mit der Tastatur.",
  "link.sure": "Sind Sie sicher?",
  "link.sure.text": "Zu dieser Adresse gibt es eine Warnung. Öffnen Sie sie nur, wenn Sie erwartet haben, dass {server} Sie zu {site} schickt.",
  "link.back": "Nicht öffnen",
  "link.opened": "Wenn Sie auf {site} fertig sind, sagen Sie es hier. {server} sieht dann nach, ob es erledigt ist.",
  "link.finished": "Ich bin fertig",
  "link.nothing-opened": "Nichts hat sich geöffnet? Kopieren Sie die Adresse und öffnen Sie sie selbst.",
  "link.forward": "Die Website leitet Sie vielleicht zu anderen Adressen weiter, die Parley nicht prüfen kann.",
  "link.held": "Mit dem Öffnen erfährt {server}, dass Sie zugestimmt haben.",
  "link.completed": "{server} sagt, dass Sie dort fertig sind.",
  "link.held.waits": "Machen Sie auf der Website alles fertig. {server} geht von selbst weiter, wenn dort alles erledigt ist.",
  "sign-out.button": "Von {server} abmelden",
  "sign-out.revoked": "Sie sind von {server} abgemeldet, und der Server hat bestätigt, dass endet, was Sie erlaubt hatten.",
  "sign-out.pending": "Sie sind hier von {server} abgemeldet. Noch ist nicht bestätigt, dass endet, was Sie erlaubt hatten; Parley fragt eine Woche lang nach.",
  "sign-out.not_offered": "Sie sind hier von {server} abgemeldet. Dem Server kann das nicht gesagt werden; was Sie erlaubt hatten, endet, wenn er es enden lässt.",
  "sign-out.nothing": "Sie waren nicht bei {server} angemeldet.",
  "trail.signed_in": "Sie haben sich bei {server} angemeldet{via}.",
  "trail.signed_in.other_account": "Sie haben sich bei {server} mit einem anderen Konto als zuvor angemeldet{via}.",
  "trail.signed_out": "Sie haben sich von {server} abgemeldet{via}.",
  "trail.not_revoked": "{server} hat noch nicht bestätigt, dass Ihre Anmeldung beendet ist.",
  "trail.not_revoked.gave_up": "{server} hat nie bestätigt, dass Ihre Anmeldung beendet ist; Parley fragt nicht mehr nach.",
  "server.sign_in": "verlangt eine Anmeldung",
  "picker.new": "Neu, seit Sie zuletzt nachgesehen haben",
  "picker.seen": "Ich habe es gesehen",
  "picker.seen-all": { one: "{n} Änderung als gesehen markieren", other: "{n} Änderungen als gesehen markieren" },
  "change.tool": "Dieses Werkzeug hat sich geändert, seit Sie es zuletzt gesehen oder erlaubt haben.",
  "change.approval": "Dieses Werkzeug hat sich geändert, seit Sie es zuletzt erlaubt oder gesehen haben.",
  "change.approval.other": "Dieses Werkzeug hat sich geändert, seit es dem Anfragenden zuletzt gezeigt oder erlaubt wurde.",
  "change.new": "Dieses Werkzeug ist neu: Vorher gab es das nicht.",
  "change.description": "Was der Server darüber sagt",
  "change.input_schema": "Seine Argumente",
  "change.annotations": "Was es über seine Wirkung sagt",
  "change.before": "Vorher",
  "change.after": "Jetzt",
  "change.nothing": "(nichts)",
  "change.unknown": "(nicht mehr bekannt)",
  "change.cut": "Es ist mehr, als hier gezeigt wird."
};

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
  "sign-out.button": "Sign out of {server}",
  "sign-out.revoked": "You are signed out of {server}, and it has confirmed that what you allowed has ended.",
  "sign-out.pending": "You are signed out of {server} here. It has not confirmed yet that what you allowed has ended; Parley asks it again for a week.",
  "sign-out.not_offered": "You are signed out of {server} here. It cannot be told so; what you allowed ends when it lets it end.",
  "sign-out.nothing": "You were not signed in to {server}.",
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
  "trail.allowed": "{tool} on {server} was allowed by another rule or permission than before.",
  "trail.permission": "A permission that was given covered it.",
  "trail.asked": "{server} asked you a question.",
  "trail.asked.url": "{server} asked you to open a website.",
  "trail.refused": { one: "A question of {server} was not shown: the rules of this host do not allow it.", other: "{n} questions of {server} were not shown: the rules of this host do not allow one of them." },
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
  "trail.closed.accepted": "A question of {server} was settled.",
  "trail.completed": "{server} said that you are done on a website.",
  "trail.blocked": "{tool} on {server} cannot go on yet.",
  "trail.uncertain": "It is not known whether {tool} on {server} happened.",
  "trail.finished": "{tool} on {server} ended: {state}.",
  "trail.denied": "{tool} on {server} was not allowed.",
  "trail.stopped": "{tool} on {server} was stopped{by}.",
  "trail.resolved": "You decided what became of {tool} on {server}.",
  "trail.approval_asked": "Permission was asked for {tool} on {server}.",
  "trail.approval_expiring": "The request for permission for {tool} on {server} is about to expire without a decision.",
  "trail.approval_decided.allowed": "{tool} on {server} was allowed{by}{via}.",
  "trail.approval_decided.denied": "{tool} on {server} was not allowed{by}{via}.",
  "trail.approval_closed": "The request for permission for {tool} on {server} ended without a decision.",
  "trail.approval_revoked": "A permission for {tool} on {server} was revoked{by}.",
  "trail.disabled": "Your access was taken away{by}.",
  "trail.enabled": "Your access was given back{by}.",
  "trail.erased": "What was stored of you was removed{by}.",
  "trail.credential_read": "A sign-in of yours was used for {server}.",
  "trail.signed_in": "You signed in to {server}{via}.",
  "trail.signed_in.other_account": "You signed in to {server} with another account than before{via}.",
  "trail.signed_out": "You signed out of {server}{via}.",
  "trail.not_revoked": "{server} has not confirmed yet that your sign-in has ended.",
  "trail.not_revoked.gave_up": "{server} never confirmed that your sign-in has ended; Parley has stopped asking.",
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
  "server.sign_in": "wants a sign-in",
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
  "picker.new": "New since you last looked",
  "picker.seen": "I have seen this",
  "picker.seen-all": { one: "Mark {n} change as seen", other: "Mark {n} changes as seen" },
  "change.tool": "This tool has changed since you last saw or allowed it.",
  "change.approval": "This tool has changed since you last allowed or saw it.",
  "change.approval.other": "This tool has changed since the asker last saw it or had it allowed.",
  "change.new": "This tool is new: it was not there before.",
  "change.description": "What the server says about it",
  "change.input_schema": "Its arguments",
  "change.annotations": "What it says of its effects",
  "change.before": "Before",
  "change.after": "Now",
  "change.nothing": "(nothing)",
  "change.unknown": "(no longer known)",
  "change.cut": "There is more than is shown here.",
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
  "record.completed": "{server} said {at} that you are done on {domain}.",
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
  "refusals.text": { one: "{n} question from {server} was not shown: it was one too many, too large, or against the rules here.", other: "{n} questions from {server} were not shown: they were too many, too large, or against the rules here." },
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
  "link.completed": "{server} says that you are done there.",
  "link.held.waits": "Finish on the website. {server} goes on by itself when it is done there."
};

// src/lib/text.ts
var catalogues = { en, de, ar };
var language = (() => {
  const asked = (document.documentElement.lang || "en").toLowerCase();
  for (const name of [asked, asked.split("-")[0] ?? "en"]) if (name in catalogues) return name;
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
  return template(key, params).replace(/\{(\w+)\}/g, (_, name) => show(params[name]));
}
function rich(key, params = {}) {
  return template(key, params).split(/(\{\w+\})/g).filter(Boolean).map((part) => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === void 0) return part;
    const value = params[name];
    return typeof value === "string" ? bdi(value) : show(value);
  });
}
function bytes(n) {
  const mega = n >= 1e6;
  return new Intl.NumberFormat(locale, { style: "unit", unit: mega ? "megabyte" : "kilobyte", maximumFractionDigits: mega ? 1 : 0 }).format(n / (mega ? 1e6 : 1e3));
}
function show(value) {
  return typeof value === "number" ? numbers.format(value) : value ?? "";
}
function toolCalled(title, name) {
  return title && title !== name ? t("tool.titled", { title }) : name;
}
function has(key) {
  return Object.hasOwn(en, key);
}
var locale = navigator.language?.toLowerCase().split("-")[0] === language.split("-")[0] ? navigator.language : language;
var moments = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short" });
var times = new Intl.DateTimeFormat(locale, { timeStyle: "short" });
function when(rfc3339) {
  if (!rfc3339) return "";
  const date = new Date(rfc3339);
  if (Number.isNaN(date.getTime())) return rfc3339;
  return date.toDateString() === (/* @__PURE__ */ new Date()).toDateString() ? times.format(date) : moments.format(date);
}
var days = new Intl.DateTimeFormat(locale, { dateStyle: "long" });
function at(rfc3339) {
  const date = new Date(rfc3339 ?? "");
  if (Number.isNaN(date.getTime())) return "";
  const time = times.format(date);
  return date.toDateString() === (/* @__PURE__ */ new Date()).toDateString() ? t("time.today", { time }) : t("time.day", { date: days.format(date), time });
}

// src/lib/api.ts
var Problem = class extends Error {
  status;
  code;
  errors;
  closedBy;
  question;
  /** What the sentence is about: a limit, a server. */
  params;
  constructor(status, body) {
    super(String(body["detail"] || body["title"] || t("error.status", { status: String(status) })));
    this.status = status;
    this.code = String(body["code"] ?? "");
    this.errors = Array.isArray(body["errors"]) ? body["errors"] : [];
    this.closedBy = String(body["closed_by"] ?? "");
    this.question = body["question"] ?? null;
    this.params = typeof body["params"] === "object" && body["params"] !== null ? body["params"] : {};
  }
};
var Unreachable = class extends Error {
  constructor() {
    super(t("error.unreachable"));
  }
};
var API = class {
  base;
  #token;
  #heard;
  /** heard is told of each answer: what the server said no with, or null. */
  constructor(base, token, heard = () => void 0) {
    this.base = base.replace(/\/+$/, "");
    this.#token = token;
    this.#heard = heard;
  }
  /**
   * request sends one request and hands back the response, whatever its status. A
   * cookie goes along on the Parley's own pages alone: pages of other origins have
   * nothing but the token that they were given.
   */
  async request(method, path, init = {}) {
    const headers = new Headers(init.headers);
    const token = await this.#token();
    if (token) headers.set("Authorization", `Bearer ${token}`);
    try {
      return await fetch(this.base + path, { ...init, method, headers, credentials: "same-origin", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer" });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new Unreachable();
    }
  }
  async read(path) {
    return this.#decode(await this.request("GET", path));
  }
  async #decode(response) {
    try {
      const value = await decode(response);
      this.#heard(null);
      return value;
    } catch (error) {
      if (error instanceof Problem) this.#heard(error);
      throw error;
    }
  }
  async write(path, { via, body, key, keepalive }) {
    const headers = { "Content-Type": "application/json" };
    if (key) headers["Idempotency-Key"] = key;
    const init = { headers, body: JSON.stringify({ ...body, via }) };
    if (keepalive) init.keepalive = true;
    return this.#decode(await this.request("POST", path, init));
  }
};
async function decode(response) {
  let body;
  try {
    const text2 = await response.text();
    body = text2 === "" ? {} : parseExact(text2);
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

// src/lib/events.ts
var EventParser = class {
  /** The id of the last event, sent as Last-Event-ID after a cut. */
  lastId = "";
  /** What the stream asks us to wait before connecting again, in milliseconds. */
  retry = null;
  #rest = "";
  #skipLF = false;
  #type = "";
  #data = [];
  #id = null;
  push(piece) {
    const events = [];
    let text2 = this.#rest + piece;
    if (this.#skipLF && text2.startsWith("\n")) text2 = text2.slice(1);
    if (text2 !== "") this.#skipLF = false;
    let start = 0;
    for (; ; ) {
      const end = nextBreak(text2, start);
      if (end < 0) break;
      const event = this.#line(text2.slice(start, end));
      if (event) events.push(event);
      start = end + 1;
      if (text2[end] === "\r") {
        if (start === text2.length) this.#skipLF = true;
        else if (text2[start] === "\n") start++;
      }
    }
    this.#rest = text2.slice(start);
    return events;
  }
  #line(line2) {
    if (line2 === "") return this.#dispatch();
    if (line2.startsWith(":")) return null;
    const colon = line2.indexOf(":");
    const field = colon < 0 ? line2 : line2.slice(0, colon);
    let value = colon < 0 ? "" : line2.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    switch (field) {
      case "event":
        this.#type = value;
        break;
      case "data":
        this.#data.push(value);
        break;
      case "id":
        if (!value.includes("\0")) this.#id = value;
        break;
      case "retry":
        if (/^\d+$/.test(value)) this.retry = Number(value);
        break;
    }
    return null;
  }
  #dispatch() {
    if (this.#id !== null) this.lastId = this.#id;
    const type = this.#type || "message";
    const data = this.#data;
    this.#type = "";
    this.#data = [];
    return data.length === 0 ? null : { id: this.lastId, type, data: data.join("\n") };
  }
};
function nextBreak(text2, from) {
  for (let i = from; i < text2.length; i++) if (text2[i] === "\n" || text2[i] === "\r") return i;
  return -1;
}

// src/lib/feed.ts
var firstWait = 2e3;
var longestWait = 3e4;
var silence = 45e3;
var hiddenFor = 6e4;
var hiddenPoll = 6e4;
var Feed = class {
  #api;
  #reader;
  #running = null;
  #lastId = "";
  constructor(api, reader) {
    this.#api = api;
    this.#reader = reader;
  }
  get running() {
    return this.#running !== null;
  }
  /** start opens the stream and keeps it open. Starting twice is harmless. */
  start() {
    if (this.#running) return;
    const running = new AbortController();
    this.#running = running;
    void this.#run(running.signal);
  }
  /** stop closes the stream, for good unless started again. */
  stop() {
    this.#running?.abort();
    this.#running = null;
  }
  async #run(signal) {
    const { loaded, snapshot, connection } = this.#reader;
    let wait = firstWait;
    let failures = 0;
    while (!signal.aborted) {
      if (document.hidden && loaded()) await whileHidden(signal, snapshot);
      if (signal.aborted) return;
      const parser = new EventParser();
      if (loaded()) parser.lastId = this.#lastId;
      try {
        await this.#stream(parser, signal, () => {
          failures = 0;
        });
      } catch (error) {
        if (signal.aborted) return;
        const ended = ending(error);
        if (ended) {
          this.#running = null;
          connection(ended);
          return;
        }
      }
      if (parser.retry !== null) wait = parser.retry;
      if (document.hidden) continue;
      connection("lost");
      const pause = Math.min(wait * 2 ** failures, longestWait);
      failures++;
      await patience(pause * (0.5 + Math.random() / 2), signal);
    }
  }
  async #stream(parser, signal, alive) {
    const { loaded, connection } = this.#reader;
    const cut = new AbortController();
    const abort = () => cut.abort();
    signal.addEventListener("abort", abort);
    let watchdog = window.setTimeout(abort, silence);
    let hidden = 0;
    const visibility = () => {
      window.clearTimeout(hidden);
      if (document.hidden) hidden = window.setTimeout(abort, hiddenFor);
    };
    document.addEventListener("visibilitychange", visibility);
    visibility();
    try {
      const headers = { Accept: "text/event-stream" };
      if (loaded() && this.#lastId) headers["Last-Event-ID"] = this.#lastId;
      const response = await this.#api.request("GET", "/v1/events", { headers, signal: cut.signal });
      if (!response.ok) await decode(response);
      if (!response.body) throw new Unreachable();
      if (loaded() && this.#lastId) connection("live");
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (; ; ) {
        const { done, value } = await reader.read();
        if (done) return;
        alive();
        window.clearTimeout(watchdog);
        watchdog = window.setTimeout(abort, silence);
        for (const event of parser.push(value)) await this.#take(event);
        this.#lastId = parser.lastId;
        if (loaded()) connection("live");
      }
    } finally {
      window.clearTimeout(watchdog);
      window.clearTimeout(hidden);
      document.removeEventListener("visibilitychange", visibility);
      signal.removeEventListener("abort", abort);
      cut.abort();
    }
  }
  async #take(event) {
    if (event.type !== "hello" && event.type !== "reset") return this.#reader.take(event);
    await this.#reader.snapshot();
    this.#reader.connection("live");
  }
};
function ending(error) {
  if (!(error instanceof Problem)) return null;
  return refusal(error) ?? (error.status === 403 ? "signed-out" : null);
}
function refusal(problem) {
  if (problem.status === 401) return "signed-out";
  return problem.status === 403 && problem.code === "disabled" ? "disabled" : null;
}
async function whileHidden(signal, snapshot) {
  while (document.hidden && !signal.aborted) {
    await patience(hiddenPoll, signal);
    if (!document.hidden || signal.aborted) return;
    await snapshot().catch(() => void 0);
  }
}
function patience(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = () => {
      window.clearTimeout(timer2);
      window.removeEventListener("online", done);
      document.removeEventListener("visibilitychange", seen);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const seen = () => {
      if (!document.hidden) done();
    };
    const timer2 = window.setTimeout(done, milliseconds);
    window.addEventListener("online", done);
    document.addEventListener("visibilitychange", seen);
    signal.addEventListener("abort", done);
  });
}

// src/lib/wire.ts
function isOpen(question) {
  return question.state === "open" || question.state === "opened";
}
var ends = /* @__PURE__ */ new Set(["done", "failed", "denied", "stopped", "expired", "interrupted", "lapsed"]);
function hasEnded(call) {
  return ends.has(call.state);
}

// src/lib/store.ts
var Store = class {
  api;
  session = null;
  servers = [];
  connection = "connecting";
  /** Servers whose questions were not shown. */
  refusals = [];
  #feed;
  #approvals = /* @__PURE__ */ new Map();
  #questions = /* @__PURE__ */ new Map();
  #calls = /* @__PURE__ */ new Map();
  #watched = /* @__PURE__ */ new Map();
  #subscribers = /* @__PURE__ */ new Set();
  #announced = /* @__PURE__ */ new Set();
  #listed = [];
  #loaded = false;
  constructor(base, token) {
    this.api = new API(base, token, (problem) => this.#heard(problem));
    this.#feed = new Feed(this.api, {
      snapshot: () => this.#loadSnapshot(),
      take: (event) => this.#take(event),
      loaded: () => this.#loaded,
      connection: (now) => this.#set(now)
    });
  }
  subscribe(listener) {
    this.#subscribers.add(listener);
    return () => this.#subscribers.delete(listener);
  }
  #emit(change) {
    for (const listener of [...this.#subscribers]) listener(change);
  }
  /** loaded says whether the first snapshot is here. */
  get loaded() {
    return this.#loaded;
  }
  /** may says whether the session has the scope; before the session is known it is taken to. */
  may(scope) {
    return this.session?.scopes?.includes(scope) ?? true;
  }
  /** bound says whether the session sees one conversation, or one approval, alone. */
  get bound() {
    return Boolean(this.session?.conversation || this.session?.approval);
  }
  approval(id) {
    return this.#approvals.get(id);
  }
  /** asking lists the open approvals that this person decides or waits for, oldest first. */
  asking() {
    return [...this.#approvals.values()].filter((approval) => approval.state === "open").sort(order);
  }
  /** deciding lists those that wait for this person. */
  deciding() {
    return this.asking().filter((approval) => approval.can_decide && this.may("answer"));
  }
  /** approvalsOf lists the approvals of a call, oldest first. */
  approvalsOf(call) {
    return [...this.#approvals.values()].filter((approval) => approval.call === call).sort(order);
  }
  question(id) {
    return this.#questions.get(id);
  }
  call(id) {
    return this.#calls.get(id);
  }
  server(id) {
    return this.servers.find((server) => server.id === id);
  }
  /** waiting lists the open questions of this person, oldest first. */
  waiting() {
    return [...this.#questions.values()].filter(isOpen).sort((a, b) => order(a, b) || a.position - b.position);
  }
  /** callsOf lists the calls of a conversation, oldest first. */
  callsOf(conversation) {
    return [...this.#calls.values()].filter((call) => call.conversation === conversation).sort(order);
  }
  /** questionsOf lists the questions of a call in the order of its rounds. */
  questionsOf(call) {
    return [...this.#questions.values()].filter((question) => question.call === call).sort((a, b) => a.round - b.round || a.position - b.position || order(a, b));
  }
  /**
   * conversations lists those of this person, the latest first: what the server
   * listed, and what its rows have told since.
   */
  get conversations() {
    const all = new Map(this.#listed.map((one) => [one.id, { ...one, open_questions: 0 }]));
    for (const call of [...this.#calls.values()].sort(order)) {
      const one = all.get(call.conversation);
      if (!one) all.set(call.conversation, { id: call.conversation, title: call.title || call.name, updated_at: call.updated_at, open_questions: 0 });
      else if (Date.parse(call.updated_at) > Date.parse(one.updated_at)) one.updated_at = call.updated_at;
    }
    for (const question of this.waiting()) {
      const one = all.get(question.conversation);
      if (one) one.open_questions++;
    }
    return [...all.values()].sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at) || (a.id < b.id ? -1 : 1));
  }
  takeQuestion(question) {
    const known = this.#questions.get(question.id);
    if (known && known.version > question.version) return;
    this.#questions.set(question.id, question);
    if (isOpen(question) && (!known || known.round < question.round)) this.#tell("question", question.id, `${question.id}-${question.round}`, question.server, t("said.asks", { server: question.server, message: question.message.slice(0, 200) }));
    this.#emit({ kind: "question", id: question.id });
  }
  takeApproval(approval) {
    const known = this.#approvals.get(approval.id);
    if (known && known.version > approval.version) return;
    const whole = approval.arguments_size && known && !known.arguments_size ? { ...approval, arguments: known.arguments, arguments_size: 0 } : approval;
    this.#approvals.set(approval.id, whole);
    if (!known && approval.state === "open" && approval.can_decide) this.#tell("approval", approval.id, approval.id, approval.server, t("said.approval", { tool: toolCalled(approval.tool_title, approval.tool), server: approval.server }));
    this.#emit({ kind: "approval", id: approval.id });
  }
  takeCall(call) {
    const known = this.#calls.get(call.id);
    if (known && known.version > call.version) return;
    this.#calls.set(call.id, known ? filled(call, known) : call);
    for (const question of this.questionsOf(call.id)) {
      if (question.can_take_back && !mayTakeBack(question, call)) this.#questions.set(question.id, { ...question, can_take_back: false });
    }
    this.#emit({ kind: "call", id: call.id });
    if (this.#watched.has(call.conversation)) {
      if (hasEnded(call) && known && !hasEnded(known)) announce(t("said.ended", { tool: toolCalled(call.title, call.name), server: call.server }));
    }
  }
  /** touch redraws a call whose view has news of its own. */
  touch(call) {
    this.#emit({ kind: "call", id: call });
  }
  // What is new is announced once, by name, wherever it is drawn.
  #tell(what, id, key, server, sentence2) {
    if (this.#announced.has(key)) return;
    this.#announced.add(key);
    if (!this.#loaded) return;
    announce(sentence2);
    this.#emit({ kind: "asks", what, id, key, server });
  }
  async loadQuestion(id) {
    const question = await this.api.read(`/v1/questions/${encodeURIComponent(id)}`);
    this.takeQuestion(question);
    return question;
  }
  async loadApproval(id) {
    const approval = await this.api.read(`/v1/approvals/${encodeURIComponent(id)}`);
    this.takeApproval(approval);
    return approval;
  }
  /** loadAsking reads the open approvals, and again those that are open here and not in the list. */
  async loadAsking() {
    const { approvals } = await this.api.read("/v1/approvals?state=open");
    const still = /* @__PURE__ */ new Set();
    for (const approval of approvals ?? []) {
      still.add(approval.id);
      this.takeApproval(approval);
    }
    await Promise.all(this.asking().filter((approval) => !still.has(approval.id)).map((approval) => this.#recheck(approval)));
  }
  // Open here but not there: somebody decided, or it is not this person's to see any more.
  async #recheck(approval) {
    try {
      await this.loadApproval(approval.id);
    } catch (error) {
      if (error instanceof Problem && error.status === 404) this.takeApproval({ ...approval, state: "withdrawn", can_decide: false });
    }
  }
  async loadRefusals() {
    if (this.bound || !this.may("read")) return;
    const { refusals } = await this.api.read("/v1/refusals");
    this.refusals = refusals ?? [];
    this.#emit({ kind: "refusals" });
  }
  // A count of 0: it was cleared, maybe in another window.
  #takeRefusal(refusal2) {
    const others = this.refusals.filter((one) => one.server !== refusal2.server);
    this.refusals = refusal2.count > 0 ? [refusal2, ...others] : others;
    this.#emit({ kind: "refusals" });
  }
  async loadCall(id) {
    const call = await this.api.read(`/v1/calls/${encodeURIComponent(id)}`);
    this.takeCall(call);
    return call;
  }
  async loadServers() {
    const { servers } = await this.api.read("/v1/servers");
    this.servers = servers ?? [];
    this.#emit({ kind: "servers" });
  }
  async loadTools(server) {
    const asked = this.api.read(`/v1/servers/${encodeURIComponent(server)}/tools`);
    const { tools } = await asked.finally(() => void this.loadServers().catch(() => void 0));
    this.#retitle(server, tools ?? []);
    return tools ?? [];
  }
  // Rows that were drawn before their server's tools were listed have names only.
  #retitle(server, tools) {
    const titled = new Set(tools.filter((tool) => tool.title && tool.title !== tool.name).map((tool) => tool.name));
    const stale = [...this.#calls.values()].some((call) => call.server === server && call.title === call.name && titled.has(call.name));
    if (!stale && !this.#listed.some((one) => titled.has(one.title))) return;
    void Promise.all([this.loadConversations(), ...[...this.#watched.keys()].map((id) => this.#loadConversation(id))]).catch(() => void 0);
  }
  async loadConversations() {
    const { conversations } = await this.api.read("/v1/conversations");
    this.#listed = conversations ?? [];
    this.#emit({ kind: "conversations" });
  }
  /** watch keeps a conversation loaded until the returned function is called. */
  watch(conversation) {
    this.#watched.set(conversation, (this.#watched.get(conversation) ?? 0) + 1);
    if (this.#feed.running) void this.#loadConversation(conversation).catch(() => void 0);
    return () => {
      const left = (this.#watched.get(conversation) ?? 1) - 1;
      if (left > 0) this.#watched.set(conversation, left);
      else this.#watched.delete(conversation);
    };
  }
  async #loadConversation(id) {
    const { calls, questions, approvals } = await this.api.read(`/v1/conversations/${encodeURIComponent(id)}`);
    for (const question of questions ?? []) this.takeQuestion(question);
    for (const approval of approvals ?? []) this.takeApproval(approval);
    for (const call of calls ?? []) this.takeCall(call);
    this.#emit({ kind: "snapshot" });
  }
  async #loadSnapshot() {
    this.session = await this.api.read("/v1/session");
    this.#emit({ kind: "session" });
    if (this.session.approval) {
      await this.loadApproval(this.session.approval).catch(notThere);
      this.#loaded = true;
      this.#emit({ kind: "snapshot" });
      return;
    }
    const [open] = await Promise.all([
      this.api.read("/v1/questions?state=open"),
      this.loadAsking(),
      this.loadRefusals(),
      this.may("call") ? this.loadServers() : void 0,
      this.loadConversations(),
      ...[...this.#watched.keys()].map((id) => this.#loadConversation(id).catch(notThere))
    ]);
    const still = /* @__PURE__ */ new Set();
    for (const question of open.questions ?? []) {
      still.add(question.id);
      this.takeQuestion(question);
    }
    const ended = this.waiting().filter((question) => !still.has(question.id));
    await Promise.all(ended.map((question) => this.loadQuestion(question.id).catch(() => void 0)));
    this.#loaded = true;
    this.#emit({ kind: "snapshot" });
  }
  /** start opens the stream and keeps it open. Starting twice is harmless. */
  start() {
    this.#feed.start();
  }
  /** stop closes the stream, for good unless started again. */
  stop() {
    this.#feed.stop();
  }
  #set(connection) {
    if (this.connection === connection) return;
    const before = this.connection;
    this.connection = connection;
    if (connection === "lost") announce(t("connection.lost"));
    if (connection === "live" && before === "lost") {
      announce(t("connection.back"));
      if (!this.bound) void this.loadAsking().catch(() => void 0);
    }
    this.#emit({ kind: "connection" });
  }
  // What one request is told holds for all: nobody finds out by the stream, which may
  // be open for hours. A page that has a fresh token by now goes on.
  #heard(problem) {
    const ended = problem && refusal(problem);
    if (ended && this.connection !== "connecting") {
      this.#feed.stop();
      this.#set(ended);
    } else if (!problem && this.#loaded && this.connection === "signed-out") this.#feed.start();
  }
  #take(event) {
    switch (event.type) {
      case "question":
        this.takeQuestion(parseExact(event.data));
        break;
      case "approval":
        this.takeApproval(parseExact(event.data));
        break;
      case "call":
        this.takeCall(parseExact(event.data));
        break;
      case "refusal":
        this.#takeRefusal(parseExact(event.data));
        break;
    }
  }
};
function mayTakeBack(question, call) {
  if (call.state === "sent") return call.held && question.held;
  return question.round === call.round && (call.state === "waiting" || call.state === "ready" || call.state === "claimed" || call.state === "blocked");
}
function notThere(error) {
  if (!(error instanceof Problem) || error.status !== 404) throw error;
}
function order(a, b) {
  return Date.parse(a.created_at) - Date.parse(b.created_at) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
var shared = /* @__PURE__ */ new Map();
function sharedStore(base, token) {
  let store = shared.get(base);
  if (!store) {
    store = new Store(base, token);
    shared.set(base, store);
  }
  return store;
}
function filled(call, known) {
  const kept = { ...call };
  if (call.arguments_size && known.arguments !== null) [kept.arguments, kept.arguments_size] = [known.arguments, 0];
  if (call.result_size && known.result !== null) [kept.result, kept.result_size] = [known.result, 0];
  if (call.error_size && known.error !== null) [kept.error, kept.error_size] = [known.error, 0];
  return kept;
}

// src/lib/element.ts
var StoreElement = class extends HTMLElement {
  #getToken = () => null;
  #store = null;
  /** Where the bearer token comes from. Asked before every request, so it may hand out fresh ones. */
  get getToken() {
    return this.#getToken;
  }
  set getToken(source) {
    this.#getToken = source;
    if (this.#store?.connection === "signed-out") this.#store.start();
  }
  /** The store; without one of its own an element shares the page's store for its `base` address. */
  get store() {
    this.#store ??= sharedStore(this.getAttribute("base") ?? "", () => this.#getToken());
    return this.#store;
  }
  set store(store) {
    this.#store = store;
  }
  /** subscribe listens to the store, and tells the page when its token is not accepted any more. */
  subscribe(listener) {
    const { store } = this;
    return store.subscribe((change) => {
      if (change.kind === "connection" && store.connection === "signed-out") {
        this.dispatchEvent(new CustomEvent("parley-token-expired", { bubbles: true, composed: true }));
      }
      listener(change);
    });
  }
  /** takeEarlyProperties lets a page set properties before this script has loaded. */
  takeEarlyProperties() {
    const self = this;
    for (const name of ["getToken", "store", "via"]) {
      if (!Object.hasOwn(this, name)) continue;
      const value = self[name];
      delete self[name];
      self[name] = value;
    }
  }
};

// src/card/presses.ts
var moment = 500;
var Presses = class {
  #busy = false;
  #drawn = "";
  #timer = 0;
  #root;
  #lets;
  #lacks;
  /**
   * lets says of which buttons the press lets something through; a button has its part in data-action.
   * lacks says of which the press lacks something to act with, until dim is called.
   */
  constructor(root, lets, lacks = () => false) {
    this.#root = root;
    this.#lets = lets;
    this.#lacks = lacks;
  }
  /** busy says whether a request is on its way. */
  get busy() {
    return this.#busy;
  }
  set busy(busy) {
    this.#busy = busy;
    this.dim();
  }
  /** ignored says whether a press of that button does nothing now. */
  ignored(part) {
    return this.#busy || this.#lacks(part) || this.#timer !== 0 && this.#lets(part);
  }
  /** drawn is told what there is to agree to before it is drawn; "" is nothing. Where it is new, the moment begins. */
  drawn(what) {
    if (what === this.#drawn) return;
    this.#drawn = what;
    window.clearTimeout(this.#timer);
    this.#timer = what === "" ? 0 : window.setTimeout(() => {
      this.#timer = 0;
      this.dim();
    }, moment);
    this.dim();
  }
  /**
   * dim shows which presses do nothing. Buttons stay enabled for screen readers and keyboards; the
   * card is not drawn anew, so that nothing moves while a request is on its way. A card of a sign-in
   * to a server has its own press.
   */
  dim() {
    for (const button of this.#root.querySelectorAll('button[data-action]:not([data-part="sign-in"] *)')) {
      if (this.ignored(button.dataset["action"] ?? "")) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    }
  }
};

// src/card/parts.ts
var longMessage = 2e3;
function place(server) {
  return server.server_local ? t("who.local") : server.server_address ?? "";
}
function heading(question, id) {
  const where = place(question);
  const ended = !(question.state === "open" || question.state === "opened");
  const key = where ? ended ? "card.asked.at" : "card.asks.at" : ended ? "card.asked" : "card.asks";
  return el("h3", { id, tabIndex: -1, "data-part": "heading" }, rich(key, { server: question.server, place: where }));
}
function message(question) {
  const text2 = question.message;
  if (text2 === "") return [];
  const findings2 = question.message_findings ?? [];
  const notes = findings2.map((finding) => el("p", { class: "hint mark" }, typeof finding === "string" ? finding : finding.text));
  const characters = [...text2];
  if (characters.length <= longMessage) return [foreign("div", text2, "message"), notes];
  const body = foreign("div", `${characters.slice(0, longMessage).join("")}…`, "message");
  const more = el("button", {
    type: "button",
    class: "link",
    on: {
      click: () => {
        body.textContent = text2;
        more.remove();
        body.tabIndex = -1;
        body.focus();
      }
    }
  }, t("card.show-all", { n: characters.length }));
  return [body, more, notes];
}
function brief(question) {
  const line2 = [...`${question.tool_title || question.tool}: ${question.message}`.trim().replace(/\s+/g, " ")];
  return line2.length > 80 ? `${line2.slice(0, 80).join("")}…` : line2.join("");
}
function rows(list2, server) {
  return el("dl", { class: "rows" }, list2.map((row) => el(
    "div",
    null,
    el("dt", null, el("span", { class: "foreign", dir: "auto" }, row.label || row.name || "")),
    el(
      "dd",
      null,
      row.value === "" ? el("span", { class: "quiet" }, t("review.empty")) : foreign("span", row.value),
      row.from === "default" ? el("span", { class: "from" }, server ? rich("review.default", { server }) : t("review.default.argument")) : null,
      row.from === "earlier" ? el("span", { class: "from" }, t("review.earlier")) : null
    )
  )));
}
function count(question) {
  return question.of > 1 ? t("card.count", { i: question.position, of: question.of }) : "";
}
function deadline(question) {
  return question.expires_at ? el("p", { class: "hint" }, t("card.until", { when: when(question.expires_at) })) : null;
}
function outcome(question) {
  const { answer, server, state } = question;
  const moment2 = at(answer?.at);
  const via = answer && has(`via.${answer.via}`) ? t(`via.${answer.via}`) : "";
  switch (state) {
    case "accepted":
      if (question.closed_by === "server") return rich("record.completed", { server, domain: question.url?.domain || question.url?.host || "", at: at(question.completed_at) });
      if (question.mode === "url") return rich("record.opened", { domain: question.url?.domain || question.url?.host || "", at: moment2, via });
      return rich(answer?.review?.length ? "record.sent" : "record.agreed", { server, at: moment2, via });
    case "declined":
      return rich("record.declined", { server, at: moment2, via });
    case "cancelled":
      return rich("record.cancelled", { server, at: moment2, via });
    case "expired":
      return rich("record.expired", { at: when(question.expires_at) });
    case "withdrawn": {
      const key = `closed.${question.closed_by ?? ""}`;
      return has(key) ? rich(key, { server }) : rich("record.withdrawn", { server });
    }
    default:
      return [];
  }
}
function completed(question) {
  return el("p", { class: "note", "data-part": "completed" }, rich("link.completed", { server: question.server }));
}
function actionsHelp(question) {
  const { server } = question;
  const line2 = (name, text2) => el("div", null, el("dt", null, name), el("dd", null, text2));
  return el("details", { class: "help" }, el("summary", null, t("help.title")), el(
    "dl",
    { class: "rows" },
    line2(t("action.decline"), rich("help.decline", { server })),
    line2(t("action.cancel"), rich("help.cancel", { server })),
    line2(t("action.later"), t("help.later"))
  ));
}
function quoted(text2) {
  return text2.replace(/[^\x20-\x7e]/gu, (c) => `\\u{${c.codePointAt(0)?.toString(16).toUpperCase() ?? ""}}`);
}

// src/card/link.ts
function agrees(link) {
  if (!link.href) return false;
  try {
    const url = new URL(link.href);
    return url.href === link.href && (url.protocol === "https:" || url.protocol === "http:") && url.hostname === (link.host ?? "") && url.port === (link.port ?? "") && url.username === "" && url.password === "";
  } catch {
    return false;
  }
}
function canOpen(question) {
  return question.url !== null && question.url.verdict !== "refuse" && agrees(question.url);
}
function needsSecondLook(question) {
  return question.url?.verdict === "warn";
}
function siteName(link) {
  if (link.verdict === "warn") return link.domain || link.host || "";
  return link.domain_unicode || link.domain || link.host_unicode || link.host || "";
}
async function sha256(text2) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text2));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
function address(question) {
  const link = question.url;
  if (!link) return [el("p", { class: "warning" }, t("link.none"))];
  const refused = !canOpen(question);
  const first = siteName(link);
  const ascii = link.domain || link.host || "";
  const other = first === ascii ? link.domain_unicode || link.host_unicode || "" : ascii;
  return [
    first === "" ? null : el(
      "p",
      { class: "site", "data-part": "site" },
      el("span", { class: "quiet" }, t("link.website")),
      " ",
      el("strong", { class: "domain", dir: "ltr" }, first),
      other && other !== first ? el("span", { class: "quiet" }, " ", rich(link.verdict === "warn" ? "link.letters" : "link.ascii", { name: other })) : null
    ),
    refused ? el("code", { class: "url", dir: "ltr", "data-part": "address" }, quoted(link.raw ?? "")) : el("code", { class: "url", dir: "ltr", "data-part": "address" }, emphasised(link)),
    !refused && link.raw !== void 0 && link.raw !== link.href ? el("p", { class: "hint" }, t("link.rewritten"), " ", el("code", { class: "value", dir: "ltr" }, quoted(link.raw))) : null,
    findings(question)
  ];
}
function emphasised(link) {
  const href = link.href ?? "";
  const host = link.host ?? "";
  const domain2 = link.domain || host;
  const start = href.indexOf(host, href.indexOf("//"));
  if (host === "" || start < 0 || !host.endsWith(domain2)) return [href];
  const at2 = start + host.length - domain2.length;
  return [href.slice(0, at2), el("strong", { class: "domain" }, domain2), href.slice(at2 + domain2.length)];
}
function findings(question) {
  const link = question.url;
  if (!link) return null;
  const list2 = [...link.findings ?? []].map((finding) => finding.verdict === "ok" ? null : el(
    "li",
    { class: finding.verdict ?? "note", "data-code": finding.code },
    el("strong", null, t(finding.verdict === "refuse" ? "link.refuse" : finding.verdict === "warn" ? "link.warn" : "link.note")),
    " ",
    bdi(finding.text)
  ));
  if (link.verdict !== "refuse" && !agrees(link)) {
    list2.unshift(el("li", { class: "refuse", "data-code": "browser_differs" }, el("strong", null, t("link.refuse")), " ", t("link.differs")));
  }
  return list2.length === 0 ? null : el("ul", { class: "findings", "data-part": "findings" }, list2);
}

// src/card/signin.ts
var SignInCard = class {
  node = el("div", { class: "actions", "data-part": "sign-in" });
  #host;
  #server;
  #via;
  #id = uid("sign-in");
  #page = null;
  #busy = false;
  #notice = "";
  constructor(host, server, via) {
    this.#host = host;
    this.#server = server;
    this.#via = via;
    this.#draw();
  }
  #draw() {
    fill(this.node, this.#notice ? el("p", { class: "notice bad", role: "alert" }, this.#notice) : null, this.#page ? this.#leave(this.#page) : el("button", {
      type: "button",
      id: this.#id,
      class: "primary",
      "data-action": "sign-in",
      "aria-disabled": this.#busy ? "true" : null,
      on: { click: () => void this.#begin() }
    }, rich("sign-in.button", { server: this.#server })));
  }
  #leave(page) {
    const site = siteName(page.link);
    return [
      el("p", null, rich("sign-in.where", { server: this.#server, site })),
      page.scopes.length > 0 ? el("p", { class: "quiet" }, rich("sign-in.scopes", { scopes: page.scopes.join(", ") })) : null,
      (page.link.findings ?? []).filter((finding) => finding.verdict === "warn").map((finding) => el("p", { class: "warning" }, el("strong", null, t("link.warn")), " ", finding.text)),
      el("a", { id: this.#id, class: "button primary", href: page.url, target: "_blank", rel: "noopener noreferrer", "data-action": "leave", on: { click: () => this.#left() } }, rich("sign-in.go", { site }))
    ];
  }
  // The address is good for one sign-in.
  #left() {
    setTimeout(() => {
      this.#page = null;
      this.#draw();
    });
  }
  async #begin() {
    if (this.#busy) return;
    this.#busy = true;
    this.#notice = "";
    this.#draw();
    try {
      const page = await this.#host.api.write(`/v1/servers/${encodeURIComponent(this.#server)}/sign-in`, { via: this.#via });
      if (page.link.href === page.url && agrees(page.link)) this.#page = page;
      else this.#notice = t("link.differs");
    } catch (error) {
      this.#notice = sentence(error);
    } finally {
      this.#busy = false;
      this.#draw();
      this.node.querySelector(`#${this.#id}`)?.focus();
    }
  }
};

// src/chat/result.ts
var mostBlocks = 200;
function result(value, server) {
  if (!isRow(value)) return [];
  const blocks = [];
  const failed = value["isError"] === true;
  if (failed) blocks.push(el("p", { class: "verdict bad", "data-part": "tool-error" }, rich("result.error", { server })));
  const content = [...list(value["content"]), ...list(value["contents"]), ...list(value["messages"]).map((one) => isRow(one) ? one["content"] : one)];
  const shown = content.slice(0, mostBlocks);
  for (const item of shown) blocks.push(contentBlock(item));
  if (content.length > shown.length) blocks.push(el("p", { class: "quiet", "data-part": "more" }, t("result.more", { n: content.length - shown.length })));
  const structured = value["structuredContent"];
  if (content.length === 0 && structured === void 0) blocks.push(el("p", { class: "quiet" }, rich("result.empty", { server })));
  const repeated = structured !== void 0 && shown.some((item) => isRow(item) && item["type"] === "text" && sameJSON(item["text"], structured));
  if (structured !== void 0 && !repeated) blocks.push(details("result.structured", structured, content.length === 0));
  blocks.push(details("result.raw", value, false));
  return blocks;
}
function details(key, value, open) {
  const pre = el("pre", { dir: "ltr", tabIndex: 0 });
  const write = () => {
    if (node.open && pre.textContent === "") pre.textContent = pretty(value);
  };
  const node = el("details", { open, class: "json", "data-part": key, on: { toggle: write } }, el("summary", null, t(key)), pre);
  write();
  return node;
}
function contentBlock(item) {
  if (!isRow(item)) return null;
  const uri2 = text(item["uri"]);
  switch (item["type"]) {
    case "text":
      return textBlock(text(item["text"]));
    case "image":
    case "audio":
      return named(item["type"] === "image" ? "result.image" : "result.audio", text(item["mimeType"]), size(item["data"]));
    case "resource_link":
      return named("result.link", text(item["title"]) || text(item["name"]) || uri2, uri2);
    case "resource":
      return resource(item["resource"]);
  }
  if (typeof item["text"] === "string" && uri2) return resource(item);
  return named("result.other", text(item["type"]) || "?", "");
}
function resource(value) {
  if (!isRow(value)) return null;
  const uri2 = text(value["uri"]);
  if (typeof value["text"] === "string") return [named("result.resource", uri2, ""), textBlock(value["text"])];
  return named("result.resource", uri2, [text(value["mimeType"]), size(value["blob"])].filter(Boolean).join(", "));
}
function textBlock(value) {
  const long = value.length > 4e3;
  const body = foreign("div", value, "result-text");
  if (!long) return body;
  return el("details", { class: "long" }, el("summary", null, t("result.long", { n: value.length })), body);
}
function named(key, name, extra) {
  return el("p", { class: "attachment" }, rich(key, { name }), extra ? [" (", bdi(extra), ")"] : null);
}
function size(base64) {
  if (typeof base64 !== "string") return "";
  return t("result.bytes", { n: Math.floor(base64.length * 3 / 4) });
}
function text(value) {
  return typeof value === "string" ? value : "";
}
function list(value) {
  return Array.isArray(value) ? value : [];
}
function isRow(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function sameJSON(source, value) {
  if (typeof source !== "string") return false;
  try {
    return JSON.stringify(JSON.parse(source)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

// src/chat/call.ts
var tones = {
  new: "busy",
  approving: "asks",
  ready: "busy",
  claimed: "busy",
  sent: "busy",
  waiting: "asks",
  blocked: "bad",
  uncertain: "bad",
  done: "good",
  failed: "bad",
  denied: "bad",
  stopped: "quiet",
  expired: "quiet",
  interrupted: "bad",
  lapsed: "bad"
};
var CallView = class {
  node;
  #host;
  #id;
  #action = el("div", { class: "did" });
  #progress = el("div", { class: "progress" });
  #questions = el("div", { class: "questions" });
  #outcome = el("div", { class: "came", tabIndex: -1 });
  #cards = /* @__PURE__ */ new Map();
  #headingId = uid("call");
  #signIn = null;
  #shape = "";
  #resultShape = "";
  #presses;
  #notice = "";
  #keys = /* @__PURE__ */ new Map();
  constructor(id, host) {
    this.#id = id;
    this.#host = host;
    this.node = el("article", { class: "call", "aria-labelledby": this.#headingId, "data-call": id }, this.#action, this.#questions, this.#outcome, this.#progress);
    this.#presses = new Presses(this.node, (part) => part === "send-again" || part === "it-happened" || part === "run-again");
  }
  /** update draws what changed. It runs inside the caller's keepFocus. */
  update() {
    const call = this.#host.store.call(this.#id);
    if (!call) return;
    const { store } = this.#host;
    const questions = store.questionsOf(this.#id);
    const approvals = store.approvalsOf(this.#id);
    const wanted2 = questions.map((question) => this.#card("question", question.id));
    for (const approval of [...approvals].reverse()) {
      const later = questions.findIndex((question) => Date.parse(question.created_at) > Date.parse(approval.created_at));
      wanted2.splice(later < 0 ? questions.length : later, 0, this.#card("approval", approval.id));
    }
    wanted2.forEach((card, i) => {
      if (this.#questions.children[i] !== card) this.#questions.insertBefore(card, this.#questions.children[i] ?? null);
    });
    const model = call.actor === "model";
    const asks = approvals.some((approval) => approval.state === "open");
    const open = questions.filter(isOpen);
    const can = this.#can(call);
    this.#presses.drawn(can.resolve || can.run_again ? JSON.stringify([call.state, call.reason, can, open.length > 0]) : "");
    const shape = JSON.stringify([{ ...call, version: 0, seq: 0, result: null, updated_at: "" }, open.length, questions.map((question) => question.held && isOpen(question)), model, asks, store.session?.scopes, this.#notice, call.reason === "sign_in" && store.servers.map((server) => server.can_sign_in)]);
    if (shape !== this.#shape) {
      this.#shape = shape;
      this.node.dataset["state"] = call.state;
      fill(this.#action, this.#did(call, model, asks));
      fill(this.#progress, this.#state(call, open.length));
    }
    const resultShape = JSON.stringify([call.result, call.error, call.result_size, call.error_size]);
    if (resultShape !== this.#resultShape) {
      this.#resultShape = resultShape;
      fill(this.#outcome, this.#result(call));
    }
  }
  #card(kind, id) {
    let card = this.#cards.get(id);
    if (!card) {
      card = document.createElement(`parley-${kind}`);
      card.store = this.#host.store;
      card.via = this.#host.via;
      card.setAttribute(`${kind}-id`, id);
      this.#cards.set(id, card);
    }
    return card;
  }
  // What the session may not do is not offered.
  #can(call) {
    const can = call.can ?? {};
    const { store } = this.#host;
    const answer = store.may("answer");
    return { stop: answer && can.stop === true, resolve: answer && can.resolve === true, decline_rest: answer && can.decline_rest === true, run_again: store.may("call") && can.run_again === true };
  }
  // What the person or a model did: the tool and the arguments. While permission is
  // asked for, the request for it shows what would be sent.
  #did(call, model, asks) {
    const title = call.title || call.name;
    const entries = isRow(call.arguments) ? Object.entries(call.arguments) : [];
    const where = call.server_local ? t("who.local") : "";
    return el(
      "div",
      { class: "bubble" },
      el("h2", { id: this.#headingId, tabIndex: -1 }, rich(model ? "call.model" : where ? "call.ran.at" : "call.ran", { tool: toolCalled(call.title, call.name), server: call.server, place: where })),
      call.replaces ? el("p", { class: "quiet" }, t("call.replaces"), " ", el("button", { type: "button", class: "link", on: { click: () => this.#host.show(call.replaces ?? "") } }, t("call.replaces.show"))) : null,
      asks ? null : call.arguments_size ? this.#large("show-arguments", "call.large-arguments", call.arguments_size) : entries.length === 0 ? el("p", { class: "quiet" }, t("call.no-arguments")) : el("dl", { class: "rows" }, entries.slice(0, mostBlocks).map(([name, value]) => {
        const line2 = scalar(value);
        return el("div", null, el("dt", null, bdi(name)), el("dd", null, line2 === null ? el("pre", { dir: "ltr" }, pretty(value)) : foreign("span", line2)));
      })),
      !asks && entries.length > mostBlocks ? el("p", { class: "quiet" }, t("call.more-arguments", { n: entries.length - mostBlocks })) : null,
      el("p", { class: "time" }, el("time", { dateTime: call.created_at }, when(call.created_at)), title === call.name ? null : [" · ", el("code", { class: "value", dir: "ltr" }, call.name)])
    );
  }
  #state(call, open) {
    const can = this.#can(call);
    const buttons = [];
    if (can.decline_rest && open > 0) buttons.push(this.#button("decline-rest", t("call.decline-rest"), () => this.#post("decline-rest")));
    if (can.stop && !can.resolve) buttons.push(this.#button("stop", t("call.stop"), () => this.#post("stop")));
    if (can.run_again && call.state !== "uncertain") buttons.push(this.#button("run-again", t("call.run-again"), () => this.#runAgain(), hasEnded(call) && call.state !== "done" ? "primary" : ""));
    const wrong = call.state === "done" && isRow(call.result) && call.result["isError"] === true;
    const tone = open > 0 && !hasEnded(call) ? "asks" : wrong ? "wrong" : tones[call.state] ?? "quiet";
    return el(
      "div",
      { class: `state ${tone}`, "data-part": "state", "data-state": call.state },
      el("p", { class: "title" }, el("span", { class: "mark", "aria-hidden": "true" }), el("strong", null, wrong ? t("state.done.wrong") : this.#title(call, open))),
      // The answer above says more than "it has answered".
      call.state === "done" && call.result ? null : el("p", null, foreign("span", this.#sentence(call, open))),
      can.resolve ? this.#resolve(call) : null,
      this.#wantsSignIn(call),
      this.#notice ? el("p", { class: "notice bad", role: "alert" }, this.#notice) : null,
      buttons.length > 0 ? el("div", { class: "actions" }, buttons) : null,
      can.run_again && hasEnded(call) && call.state !== "done" ? el("p", { class: "hint" }, t("call.run-again.hint")) : null
    );
  }
  // A card of the host's own. Pages of products have nobody who signs in to servers.
  #wantsSignIn(call) {
    const can = this.#host.store.servers.some((server) => server.id === call.server && server.can_sign_in);
    if (call.state !== "blocked" || call.reason !== "sign_in" || !can) this.#signIn = null;
    else this.#signIn ??= new SignInCard(this.#host.store, call.server, this.#host.via);
    return this.#signIn?.node;
  }
  #title(call, open) {
    if ((call.state === "waiting" || call.state === "sent") && open > 0) return rich("state.asks", { server: call.server, n: open });
    if (call.state === "waiting") return t("state.waiting.rest");
    const key = `state.${call.state}`;
    return has(key) ? rich(key, { server: call.server }) : call.state;
  }
  // The server's sentence tells more than the state, except while the page has
  // something to say about its own questions.
  #sentence(call, open) {
    if (call.text && open === 0) return call.text;
    const key = open > 0 && call.held ? "why.held" : `why.${call.state}`;
    return has(key) ? t(key, { server: call.server, n: open }) : "";
  }
  // An uncertain call is for a person to judge: each way says what it means.
  #resolve(call) {
    const way = (how, key, hint) => el(
      "div",
      { class: "way" },
      this.#button(how.replaceAll("_", "-"), t(key), () => this.#post("resolve", { how })),
      el("p", { class: "hint" }, rich(hint, { server: call.server, tool: toolCalled(call.title, call.name) }))
    );
    return el(
      "div",
      { class: "ways", role: "group", "aria-label": t("resolve.title") },
      // To send again is to call.
      !this.#host.store.may("call") ? null : way("send_again", "resolve.send-again", call.held ? "resolve.send-again.held" : "resolve.send-again.hint"),
      way("it_happened", "resolve.it-happened", "resolve.it-happened.hint"),
      way("give_up", "resolve.give-up", "resolve.give-up.hint")
    );
  }
  // What is too large for the rows that come by themselves is fetched when it is wanted.
  #large(part, key, size2) {
    return el(
      "div",
      { "data-part": "large" },
      el("p", { class: "quiet" }, t(key, { size: bytes(size2) })),
      this.#button(part, t("result.show"), async () => {
        await this.#host.store.loadCall(this.#id);
        this.#outcome.focus({ preventScroll: true });
      })
    );
  }
  #result(call) {
    if (call.error_size) {
      return el(
        "div",
        { class: "bubble answer" },
        el("p", { class: "verdict bad" }, rich("result.protocol", { server: call.server })),
        this.#large("show-result", "result.large", call.error_size)
      );
    }
    if (call.result_size) {
      return el(
        "section",
        { class: "bubble answer", "data-part": "result", "aria-label": t("result.title", { server: call.server }) },
        el("p", { class: "eyebrow" }, rich("result.title", { server: call.server })),
        this.#large("show-result", "result.large", call.result_size)
      );
    }
    if (call.error) {
      return el(
        "div",
        { class: "bubble answer" },
        el("p", { class: "verdict bad" }, rich("result.protocol", { server: call.server })),
        foreign("p", String(call.error.message ?? "")),
        el("p", { class: "quiet" }, t("result.code", { code: String(call.error.code ?? "?") }))
      );
    }
    if (call.result === null || call.result === void 0) return null;
    const shown = result(call.result, call.server);
    if (shown.length === 0) return el("div", { class: "bubble answer" }, details("result.raw", call.result, true));
    return el(
      "section",
      { class: "bubble answer", "data-part": "result", "aria-label": t("result.title", { server: call.server }) },
      el("p", { class: "eyebrow" }, rich("result.title", { server: call.server })),
      shown
    );
  }
  #button(part, label2, press, className = "") {
    return el("button", {
      type: "button",
      id: `${this.#headingId}-${part}`,
      class: className,
      "data-action": part,
      "aria-disabled": this.#presses.ignored(part) ? "true" : null,
      on: { click: () => {
        if (!this.#presses.ignored(part)) void this.#busily(press);
      } }
    }, label2);
  }
  async #busily(work) {
    this.#presses.busy = true;
    this.#notice = "";
    try {
      await work();
    } catch (error) {
      this.#notice = sentence(error);
      if (error instanceof Problem) void this.#host.store.loadCall(this.#id).catch(() => void 0);
    } finally {
      this.#presses.busy = false;
      this.#host.store.touch(this.#id);
    }
  }
  // The same press sent again after a lost reply is the same request.
  #key(what) {
    const key = this.#keys.get(what) ?? randomId(16);
    this.#keys.set(what, key);
    return key;
  }
  async #post(what, body = {}) {
    const name = what + (body.how ?? "");
    const answer = await this.#host.store.api.write(`/v1/calls/${encodeURIComponent(this.#id)}/${what}`, { via: this.#host.via, body, key: this.#key(name) });
    this.#keys.delete(name);
    if (answer.id) this.#host.store.takeCall(answer);
    else await this.#host.store.loadCall(this.#id);
  }
  async #runAgain() {
    const call = await this.#host.store.api.write(`/v1/calls/${encodeURIComponent(this.#id)}/run-again`, { via: this.#host.via, key: this.#key("run-again") });
    this.#keys.delete("run-again");
    this.#host.store.takeCall(call);
    this.#host.show(call.id);
  }
  /** newest is what a person may want to see next, and a name for it that changes with it; null while nothing is new. */
  newest() {
    const call = this.#host.store.call(this.#id);
    if (!call) return null;
    const open = this.#host.store.questionsOf(this.#id).filter(isOpen).at(-1);
    const card = open && this.#cards.get(open.id);
    if (card) return { name: `${open.id} ${open.mode === "url" ? open.url?.href ?? "" : ""}`, node: card };
    const asking = this.#host.store.approvalsOf(this.#id).findLast((approval) => approval.state === "open");
    const permission = asking && this.#cards.get(asking.id);
    if (permission) return { name: asking.id, node: permission };
    if (hasEnded(call)) return { name: `${call.id} ${call.state}`, node: this.#outcome.childElementCount > 0 ? this.#outcome : this.#progress };
    if (call.state === "uncertain" || call.state === "blocked") return { name: `${call.id} ${call.state} ${call.reason}`, node: this.#progress };
    return null;
  }
  focus() {
    const heading2 = this.node.querySelector("h2");
    heading2?.focus({ preventScroll: true });
    this.node.scrollIntoView({ block: "start" });
  }
};

// src/lib/visible.ts
var unseen = /[^\P{C}\t\n]|[\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]/gu;
function visible(text2) {
  return text2.replace(unseen, (c) => [...Array(c.length).keys()].map((i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, "0")}`).join(""));
}
function exactly(value) {
  return visible(pretty(value));
}

// src/card/change.ts
function changeNode(change, heading2) {
  if (!change) return null;
  return el(
    "div",
    { class: "warning change", "data-part": "changed" },
    el("p", null, t(change.new ? "change.new" : heading2)),
    change.parts.map((part) => el(
      "div",
      { "data-change": part.part },
      el("p", null, el("strong", null, t(`change.${part.part}`))),
      part.before || part.after ? el("dl", { class: "rows" }, line("change.before", part.before, part), line("change.after", part.after, part)) : null,
      part.cut ? el("p", { class: "quiet" }, t("change.cut")) : null
    ))
  );
}
function line(label2, text2, part) {
  const words = part.part === "description" ? foreign("p", visible(text2)) : foreign("pre", visible(text2));
  return el("div", null, el("dt", null, t(label2)), el("dd", null, text2 === "" ? el("span", { class: "quiet" }, t(part.cut ? "change.unknown" : "change.nothing")) : words));
}

// src/form/format.ts
function isDate(text2) {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text2) ?? [];
  const date = /* @__PURE__ */ new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}
function isMoment(text2) {
  const [, date = "", hour, minute, second, sign, ahead, apart] = /^(.{10})[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/.exec(text2) ?? [];
  const [h, m, s, oh, om] = [Number(hour), Number(minute), Number(second), Number(ahead ?? 0), Number(apart ?? 0)];
  if (!isDate(date) || !(h < 24 && m < 60 && s < 61 && oh < 24 && om < 60)) return false;
  const utc = h * 60 + m - (sign === "-" ? -1 : 1) * (oh * 60 + om);
  return s < 60 || (utc + 1440) % 1440 === 1439;
}
var pchar = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
var inName = "(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})";
var inUser = `(?:${inName}|:)`;
var uri = new RegExp(`^([A-Za-z][A-Za-z0-9+.-]*):(?://(?:${inUser}*@)?(\\[[^\\]]*\\]|${inName}*)(?::(\\d{0,5}))?(?=[/?#]|$))?(?:${pchar}|/)*(?:\\?(?:${pchar}|[/?])*)?(?:#(?:${pchar}|[/?])*)?$`);
function isURI(text2) {
  const [whole, scheme = "", host, port = ""] = uri.exec(text2) ?? [];
  if (whole === void 0 || Number(port) > 65535) return false;
  if (host === void 0 && text2.startsWith("//", scheme.length + 1)) return false;
  if (host?.startsWith("[") && !isIPv6(host.slice(1, -1))) return false;
  return !/^https?$/i.test(scheme) || !!host;
}
var atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
var local = new RegExp(`^(?:${atom}(?:\\.${atom})*|"(?:[ !#-\\[\\]-~]|\\\\[ -~])+")$`);
var label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
var domain = new RegExp(`^${label}(?:\\.${label})*$`);
function isEmail(text2) {
  const at2 = text2.lastIndexOf("@");
  const [name, host] = [text2.slice(0, Math.max(at2, 0)), text2.slice(at2 + 1)];
  if (text2.length > 254 || name.length > 64 || !local.test(name)) return false;
  const literal = /^\[(IPv6:)?(.*)\]$/i.exec(host);
  if (literal) return literal[1] ? isIPv6(literal[2] ?? "") : isIPv4(literal[2] ?? "");
  return host.length <= 253 && domain.test(host);
}
function isIPv4(text2) {
  return /^(?:(?:0|[1-9]\d{0,2})(?:\.(?!$)|$)){4}$/.test(text2) && text2.split(".").every((part) => Number(part) < 256);
}
function isIPv6(text2) {
  return /^[0-9A-Fa-f:.]+$/.test(text2) && URL.canParse(`http://[${text2}]/`);
}

// src/form/number.ts
var zeros = [48, 1632, 1776, 2406, 2534, 3664, 65296];
var same = { "−": "-", "－": "-", "＋": "+", "٫": ".", "．": ".", "'": " ", "’": " ", "٬": " " };
var longest = 1e3;
function typedNumber(text2) {
  if ([...text2].length > longest) return null;
  const plain = inASCII(text2);
  const [, sign = "", mantissa = "", exponent = ""] = /^([+-]?) *([\d., ]*)((?:[eE][+-]?\d+)?)$/.exec(plain ?? "") ?? [];
  const point = withPoint(mantissa);
  const [, grouped = "", fraction = ""] = /^([^.]*)\.?(\d*)$/.exec(point ?? " ") ?? [, " "];
  const whole = /^\d{1,3}( \d{3})+$/.test(grouped) ? grouped.replaceAll(" ", "") : grouped;
  if (!/^\d*$/.test(whole) || whole === "" && fraction === "") return null;
  const literal = `${sign === "-" ? "-" : ""}${whole || "0"}${fraction && `.${fraction}`}${exponent}`;
  return Number.isFinite(Number(literal)) ? literal : null;
}
function inASCII(text2) {
  let zero = 0;
  let plain = "";
  for (const char of text2) {
    const code = char.codePointAt(0) ?? 0;
    const from = zeros.find((z) => code >= z && code <= z + 9);
    if (from !== void 0) {
      if (zero !== 0 && zero !== from) return null;
      zero = from;
      plain += String(code - from);
    } else plain += same[char] ?? (/[\t\u00a0\u2000-\u200a\u202f\u205f\u3000]/.test(char) ? " " : char);
  }
  return plain.replace(/^ +| +$/g, "");
}
function withPoint(mantissa) {
  if (!mantissa.includes(",")) return mantissa;
  const [, whole = "", fraction = ""] = /^([^,.]*),(\d+)$/.exec(mantissa) ?? [];
  const twoWays = fraction.length === 3 && whole.length <= 3 && whole !== "0" && whole !== "";
  return fraction === "" || twoWays ? null : `${whole}.${fraction}`;
}
function decimal(literal) {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  const all = whole + fraction;
  const digits = all.replace(/^0+/, "");
  return { negative: sign === "-", digits: digits.replace(/0+$/, ""), power: whole.length - (all.length - digits.length) + Number(exponent) };
}
function compare(a, b) {
  const [x, y] = [decimal(a), decimal(b)];
  const side = (d) => d.digits === "" ? 0 : d.negative ? -1 : 1;
  if (side(x) !== side(y) || side(x) === 0) return side(x) - side(y);
  const size2 = x.power - y.power || (x.digits < y.digits ? -1 : x.digits > y.digits ? 1 : 0);
  return size2 * side(x);
}
function isWhole(literal) {
  return /^-?\d+(\.0*)?$/.test(literal);
}
function isMultiple(literal, of) {
  const [x, y] = [decimal(literal), decimal(of)];
  if (x.digits === "") return true;
  const [low, high] = [x.power - x.digits.length, y.power - y.digits.length];
  if (y.digits === "" || !(Math.abs(low - high) <= longest)) return false;
  const scaled = (d, exponent) => BigInt(d.digits) * 10n ** BigInt(exponent - Math.min(low, high));
  return scaled(x, low) % scaled(y, high) === 0n;
}

// src/form/check.ts
function looksRight(field, raw) {
  if (Array.isArray(raw)) return countIsRight(field, raw.length);
  if (typeof raw === "object") return field.empty_allowed === true || field.options?.some((option) => option.value === "") === true;
  if (raw !== "" && raw === field.default) return true;
  const text2 = trim(raw);
  if (text2 === "") return !field.required;
  switch (field.control) {
    case "boolean":
    case "choice":
      return true;
    case "integer":
    case "number":
      return numberIsRight(field, text2);
    case "json":
      return false;
    // the view does not say which values are asked for
    case "date":
      return isDate(text2) && textIsRight(field, text2);
    case "date-time":
      return isMoment(text2) && textIsRight(field, text2);
    case "email":
      return isEmail(text2) && textIsRight(field, text2);
    case "uri":
      return isURI(text2) && textIsRight(field, text2);
  }
  return textIsRight(field, text2);
}
function countIsRight(field, count2) {
  const least = field.min_items ?? 0;
  if (count2 === 0) return !field.required || least === 0;
  return count2 >= least && count2 <= (field.max_items ?? Infinity);
}
function textIsRight(field, text2) {
  if (field.pattern && field.pattern_enforced) return false;
  const length = [...text2.replaceAll("\r\n", "\n")].length;
  return length >= (field.min_length ?? 0) && length <= (field.max_length ?? Infinity);
}
function numberIsRight(field, text2) {
  const n = typedNumber(text2);
  if (n === null || field.control === "integer" && !isWhole(n)) return false;
  const against = (bound, fits) => !bound || fits(compare(n, bound));
  return against(field.minimum, (order2) => order2 >= 0) && against(field.maximum, (order2) => order2 <= 0) && against(field.exclusive_minimum, (order2) => order2 > 0) && against(field.exclusive_maximum, (order2) => order2 < 0) && (!field.multiple_of || isMultiple(n, field.multiple_of));
}
var space = "[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
var ends2 = new RegExp(`^${space}+|${space}+$`, "g");
function trim(text2) {
  return text2.replace(ends2, "");
}

// src/form/control.ts
var Group = class {
  node;
  id;
  #hints = [];
  #error;
  #described;
  #invalid;
  #failed = false;
  /**
   * A fieldset when the field has several inputs, else a div. described are
   * the elements that the hints and the error describe, invalid those that
   * carry aria-invalid: ARIA 1.2 has no such state on a single radio.
   */
  constructor(field, setting, options, ...inputs) {
    this.id = uid("field");
    this.#described = options.described;
    this.#invalid = options.invalid;
    this.#error = el("p", { class: "error", id: `${this.id}-error`, hidden: true });
    const label2 = [el("span", { class: "foreign", dir: "auto" }, field.label || field.name)];
    if (!field.required) label2.push(" ", el("span", { class: "optional" }, t("field.optional")));
    const head = options.fieldset ? el("legend", { class: "label" }, label2) : el("label", { class: "label", for: this.id }, label2);
    this.node = el(
      options.fieldset ? "fieldset" : "div",
      { class: "field", "data-field": field.name, "data-control": field.control },
      head,
      this.#hintsOf(field, setting),
      this.#error,
      inputs
    );
    if (options.radios) this.node.setAttribute("role", "radiogroup");
  }
  #hint(className, ...children) {
    const id = `${this.id}-hint${this.#hints.length || ""}`;
    this.#hints.push(id);
    return el("p", { class: className, id }, children);
  }
  #hintsOf(field, setting) {
    const hints = [];
    const limits = limitsOf(field);
    const own = [];
    if (limits) own.push(limits);
    if (setting.from === "default" && setting.server) own.push(el("span", { class: "mark" }, rich("field.suggested", { server: setting.server })));
    if (setting.from === "default" && !setting.server) own.push(el("span", { class: "mark" }, t("field.default")));
    if (setting.from === "earlier") own.push(el("span", { class: "mark" }, t("field.earlier")));
    const long = field.hint !== void 0 && field.hint.includes("\n");
    if (field.hint && long) hints.push(this.#hint("hint", foreign("span", field.hint)));
    const parts2 = field.hint && !long ? [foreign("span", field.hint), ...own] : own;
    if (parts2.length > 0) {
      hints.push(this.#hint("hint", parts2.map((part, i) => {
        if (i === 0) return part;
        const ended = i === 1 && field.hint && !long && /\p{Terminal_Punctuation}\s*$/u.test(field.hint);
        return [ended ? " " : ". ", part];
      })));
    }
    for (const note of setting.notes) hints.push(this.#hint("hint mark", note));
    if (field.secret) {
      hints.push(this.#hint("warning", setting.server ? rich("field.secret", { server: setting.server }) : t("field.secret.argument")));
    }
    return hints;
  }
  /** describe ties hints and error to the inputs. Call it when inputs come or go. */
  describe(extra = []) {
    const ids2 = [...this.#hints, ...extra];
    if (this.#failed) ids2.push(this.#error.id);
    for (const node of this.#described()) {
      if (ids2.length > 0) node.setAttribute("aria-describedby", ids2.join(" "));
      else node.removeAttribute("aria-describedby");
    }
    for (const node of this.#invalid()) {
      if (this.#failed) node.setAttribute("aria-invalid", "true");
      else node.removeAttribute("aria-invalid");
    }
  }
  fail(text2, extra = []) {
    this.#failed = text2 !== null;
    this.#error.hidden = text2 === null;
    this.#error.replaceChildren();
    if (text2 !== null) this.#error.append(el("span", { class: "away" }, t("field.error")), " ", bdi(text2));
    this.node.classList.toggle("failed", this.#failed);
    this.describe(extra);
  }
};
function limitsOf(field) {
  switch (field.control) {
    case "integer":
    case "number":
      return numberLimits(field);
    case "choices":
      return itemLimits(field);
    case "uri":
      return t("limit.uri");
    case "json":
      return t("limit.json");
    default:
      return "";
  }
}
function numberLimits(field) {
  const whole = field.control === "integer";
  const parts2 = [];
  const { minimum: min, maximum: max, exclusive_minimum: above, exclusive_maximum: below, multiple_of: of } = field;
  if (min && max) parts2.push(t(whole ? "limit.whole.between" : "limit.between", { min, max }));
  else if (min) parts2.push(t(whole ? "limit.whole.least" : "limit.least", { min }));
  else if (max) parts2.push(t(whole ? "limit.whole.most" : "limit.most", { max }));
  else if (whole) parts2.push(t("limit.whole"));
  if (above) parts2.push(t("limit.above", { min: above }));
  if (below) parts2.push(t("limit.below", { max: below }));
  if (of && of !== "1") parts2.push(t("limit.multiple", { of }));
  return parts2.join(". ");
}
function itemLimits(field) {
  const min = field.min_items ?? 0;
  const max = field.max_items ?? 0;
  if (min > 0 && min === max) return t("limit.items.exactly", { n: min });
  if (min > 0 && max > 0) return t("limit.items.between", { min, max });
  if (min > 1) return t("limit.items.least", { n: min });
  if (max > 0) return t("limit.items.most", { n: max });
  return t("limit.items.any");
}
function isLong(field) {
  return field.control === "textarea" || field.multiline === true;
}

// src/form/choice.ts
var filterFrom = 11;
var noAnswer = { value: "", label: t("choice.none") };
var ChoiceControl = class {
  field;
  node;
  #group;
  #rows;
  #several;
  #filter = null;
  constructor(field, setting) {
    this.field = field;
    this.#several = field.control === "choices";
    const options = optionsOf(field);
    const name = uid("choice");
    this.#rows = options.map((option) => this.#row(option, name, setting));
    const list2 = field.filter || options.length >= filterFrom ? this.#filtered() : el("div", { class: "options" }, this.#rows.map((row) => row.node));
    const self = () => [this.#group.node];
    const boxes = this.#rows.map((row) => row.input);
    this.#group = new Group(field, setting, {
      fieldset: true,
      radios: !this.#several,
      described: () => this.#group ? self() : [],
      invalid: () => this.#several ? boxes : self()
    }, list2);
    this.node = this.#group.node;
    if (!this.#several && field.required) this.node.setAttribute("aria-required", "true");
    this.#group.describe();
    if (!field.required && !this.#several) this.set("");
  }
  #row(option, name, setting) {
    const id = uid("option");
    const input = el("input", { type: this.#several ? "checkbox" : "radio", id, name, value: option.value, on: { change: setting.changed } });
    const label2 = option.label || option.value || t("choice.empty");
    const shown = [foreign("span", label2)];
    if (option.show_value && option.value !== label2 && option.value !== "") shown.push(" ", el("code", { class: "value", dir: "auto" }, option.value));
    if (option.hint) shown.push(foreign("span", option.hint, "option-hint"));
    const node = el("div", { class: "option" }, input, el("label", { for: id }, shown));
    return { option, input, node, text: fold(`${label2} ${option.value} ${option.hint ?? ""}`) };
  }
  #filtered() {
    const id = uid("filter");
    const status = el("p", { class: "hint", role: "status" });
    const rows2 = this.#rows.filter((row) => row.option !== noAnswer);
    const list2 = el("div", { class: "options scroll" }, rows2.map((row) => row.node));
    const total = rows2.length;
    let timer2 = 0;
    const box = el("input", {
      type: "text",
      id,
      autocomplete: "off",
      spellcheck: false,
      on: {
        input: () => {
          const words = fold(box.value).split(/\s+/).filter(Boolean);
          let shown = 0;
          for (const row of rows2) {
            const fits = row.input.checked || words.every((word) => row.text.includes(word));
            row.node.hidden = !fits;
            if (fits) shown++;
          }
          window.clearTimeout(timer2);
          timer2 = window.setTimeout(() => {
            status.textContent = t("choice.shown", { n: shown, total });
          }, 300);
        },
        // Enter in the filter narrows the list; it must not send the form.
        keydown: (event) => {
          if (event.key === "Enter") event.preventDefault();
        }
      }
    });
    status.textContent = t("choice.shown", { n: total, total });
    this.#filter = box;
    return [el("div", { class: "filter" }, el("label", { for: id }, t("choice.filter")), box, status), this.#rows.filter((row) => !rows2.includes(row)).map((row) => row.node), list2];
  }
  value() {
    const chosen = this.#rows.filter((row) => row.input.checked);
    if (this.#several) return chosen.map((row) => row.option.value);
    const one = chosen[0];
    if (!one) return "";
    return one.option.value === "" && one.option !== noAnswer ? { empty: true } : one.option.value;
  }
  set(raw) {
    const wanted2 = new Set(typeof raw === "string" ? [raw] : Array.isArray(raw) ? raw : [""]);
    let found = false;
    const none = raw === "";
    for (const row of this.#rows) {
      const fits = row.option === noAnswer ? none : wanted2.has(row.option.value) && !none;
      row.input.checked = fits && (this.#several || !found);
      found ||= row.input.checked;
    }
  }
  problem() {
    return null;
  }
  // What the filter has taken out of sight takes no focus.
  target() {
    const shown = this.#rows.filter((row) => !row.node.hidden);
    return shown.find((row) => row.input.checked && !this.#several)?.input ?? shown[0]?.input ?? this.#filter ?? this.node;
  }
  fail(text2) {
    this.#group.fail(text2);
  }
};
function optionsOf(field) {
  const options = field.control === "boolean" && !field.options?.length ? [{ value: "true", label: t("choice.yes") }, { value: "false", label: t("choice.no") }] : [...field.options ?? []];
  if (field.control !== "choices" && !field.required) options.push(noAnswer);
  return options;
}
function fold(text2) {
  return text2.normalize("NFKD").replace(/\p{M}/gu, "").toLocaleLowerCase();
}

// src/form/zone.ts
var formats = /* @__PURE__ */ new Map();
function parts(zone, instant) {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-u-ca-iso8601-nu-latn", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" });
    formats.set(zone, format);
  }
  const found = {};
  for (const { type, value } of format.formatToParts(instant)) found[type] = Number(value);
  const at2 = (name) => found[name] ?? 0;
  return { year: at2("year"), month: at2("month"), day: at2("day"), hour: at2("hour"), minute: at2("minute"), second: at2("second") };
}
function asUTC(local2) {
  const date = /* @__PURE__ */ new Date(0);
  date.setUTCFullYear(local2.year, local2.month - 1, local2.day);
  date.setUTCHours(local2.hour, local2.minute, local2.second);
  return date.getTime();
}
function offsetAt(zone, instant) {
  return Math.round((asUTC(parts(zone, instant)) - Math.floor(instant / 1e3) * 1e3) / 6e4);
}
function offsetsOf(zone, local2) {
  const fixed = /^UTC([+-])(\d\d):(\d\d)$/.exec(zone);
  if (fixed) return [(fixed[1] === "-" ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3]))];
  const guess = asUTC(local2);
  const day = 864e5;
  const candidates = /* @__PURE__ */ new Set([offsetAt(zone, guess - day), offsetAt(zone, guess), offsetAt(zone, guess + day)]);
  return [...candidates].filter((offset) => asUTC(parts(zone, guess - offset * 6e4)) === guess).sort((a, b) => b - a);
}
function offsetText(minutes) {
  const size2 = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size2 / 60))}:${two(size2 % 60)}`;
}
function two(n) {
  return String(n).padStart(2, "0");
}
function ownZone() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}
function zones() {
  return ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];
}

// src/form/date.ts
var partKeys = { day: "date.day", month: "date.month", year: "date.year" };
function partOrder() {
  const parts2 = new Intl.DateTimeFormat(navigator.language || locale, { year: "numeric", month: "numeric", day: "numeric", calendar: "gregory" }).formatToParts(0).map((part) => part.type).filter((type) => type in partKeys);
  return parts2.length === 3 ? parts2 : ["day", "month", "year"];
}
function monthNumber(text2) {
  if (/^\d{1,2}$/.test(text2)) return Number(text2);
  const wanted2 = text2.toLocaleLowerCase().replace(/\.$/, "");
  if ([...wanted2].length < 3) return null;
  for (const one of [navigator.language || locale, locale, "en"]) {
    const names = new Intl.DateTimeFormat(one, { month: "long", timeZone: "UTC" });
    for (let month = 0; month < 12; month++) {
      if (names.format(Date.UTC(2e3, month, 1)).toLocaleLowerCase().startsWith(wanted2)) return month + 1;
    }
  }
  return null;
}
var DateInputs = class {
  node;
  inputs = [];
  #part;
  constructor(field, changed) {
    const birthday = field.autocomplete === "bday";
    const make = (part) => el("input", {
      type: "text",
      id: uid(part),
      class: part === "year" ? "w4" : part === "month" ? "w3" : "w2",
      autocomplete: birthday ? `bday-${part}` : "off",
      spellcheck: false,
      on: { input: changed },
      ...part === "month" ? {} : { inputmode: "numeric", inputMode: "numeric" }
    });
    this.#part = { day: make("day"), month: make("month"), year: make("year") };
    this.node = el("div", { class: "parts" }, partOrder().map((part) => {
      const input = this.#part[part];
      this.inputs.push(input);
      return el("div", { class: "part" }, el("label", { for: input.id }, t(partKeys[part])), input);
    }));
  }
  get blank() {
    return this.inputs.every((input) => input.value.trim() === "");
  }
  /** numbers is the date if its parts are a real one. */
  numbers() {
    const year = this.#part.year.value.trim();
    const month = monthNumber(this.#part.month.value.trim());
    const day = this.#part.day.value.trim();
    if (!/^\d{4}$/.test(year) || !/^\d{1,2}$/.test(day) || month === null) return null;
    const date = /* @__PURE__ */ new Date(0);
    date.setUTCFullYear(Number(year), month - 1, Number(day));
    if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== Number(day)) return null;
    return { year: Number(year), month, day: Number(day) };
  }
  /** text is YYYY-MM-DD, or what was typed in that order when it is no date. */
  text() {
    if (this.blank) return "";
    const date = this.numbers();
    if (date) return `${String(date.year).padStart(4, "0")}-${two(date.month)}-${two(date.day)}`;
    return [this.#part.year, this.#part.month, this.#part.day].map((input) => input.value.trim()).join("-");
  }
  set(text2) {
    const [, year = "", month = "", day = ""] = /^([^-]*)-([^-]*)-(.*)$/.exec(text2) ?? [];
    const bare = (part) => /^0\d$/.test(part) ? part.slice(1) : part;
    this.#part.year.value = year || month || day ? year : text2;
    this.#part.month.value = bare(month);
    this.#part.day.value = bare(day);
  }
  /** wrong is the first part that cannot be right. */
  wrong() {
    const { day, month, year } = this.#part;
    const bad = (input) => {
      const text2 = input.value.trim();
      if (input === year) return !/^\d{4}$/.test(text2);
      const n = input === month ? monthNumber(text2) : /^\d{1,2}$/.test(text2) ? Number(text2) : null;
      return n === null || n < 1 || n > (input === month ? 12 : 31);
    };
    return this.inputs.find(bad) ?? (this.numbers() ? this.inputs[0] : day) ?? day;
  }
};
var DateControl = class {
  field;
  node;
  #date;
  #group;
  constructor(field, setting) {
    this.field = field;
    this.#date = new DateInputs(field, setting.changed);
    const example = uid("example");
    this.#group = new Group(
      field,
      setting,
      { fieldset: true, described: () => this.#group ? [this.#group.node] : [], invalid: () => this.#date.inputs },
      el("p", { class: "hint", id: example }, t("date.example", { example: exampleDate() })),
      this.#date.node
    );
    this.node = this.#group.node;
    this.#example = [example];
    this.#group.describe(this.#example);
  }
  #example;
  value() {
    return this.#date.text();
  }
  set(raw) {
    this.#date.set(typeof raw === "string" ? raw : "");
  }
  problem() {
    return this.#date.blank || this.#date.numbers() ? null : t("date.unreal", { label: this.field.label || this.field.name });
  }
  target() {
    return this.#date.wrong();
  }
  fail(text2) {
    this.#group.fail(text2, this.#example);
  }
};
function exampleDate() {
  const parts2 = { day: "27", month: "3", year: "2027" };
  return partOrder().map((part) => parts2[part]).join(" ");
}
var clock = /^(\d{1,2})[:.](\d{2})(?:[:.](\d{2})(\.\d+)?)?$/;
var MomentControl = class {
  field;
  node;
  #date;
  #time;
  #zone;
  #echo;
  #twice;
  #group;
  #changed;
  #inputs;
  #chosenOffset = null;
  #twiceFor = "";
  constructor(field, setting) {
    this.field = field;
    this.#changed = setting.changed;
    const changed = () => {
      this.#update();
      setting.changed();
    };
    this.#date = new DateInputs(field, changed);
    this.#time = el("input", { type: "text", id: uid("time"), class: "w5", autocomplete: "off", spellcheck: false, on: { input: changed } });
    const own = ownZone();
    this.#zone = el(
      "select",
      { id: uid("zone"), on: { change: changed } },
      el("option", { value: own, selected: true }, t("date.own", { zone: own, offset: offsetText(offsetAt(own, Date.now())) })),
      zones().filter((zone) => zone !== own).map((zone) => el("option", { value: zone }, zone))
    );
    this.#echo = el("p", { class: "hint echo", id: uid("echo") });
    this.#twice = el("div", { class: "twice" });
    this.#inputs = [...this.#date.inputs, this.#time];
    const rows2 = [
      this.#date.node,
      el(
        "div",
        { class: "parts" },
        el("div", { class: "part" }, el("label", { for: this.#time.id }, t("date.time")), this.#time),
        el("div", { class: "part wide" }, el("label", { for: this.#zone.id }, t("date.zone")), this.#zone)
      ),
      this.#twice,
      this.#echo
    ];
    this.#group = new Group(field, setting, { fieldset: true, described: () => this.#group ? [this.#group.node] : [], invalid: () => this.#inputs }, rows2);
    this.node = this.#group.node;
    this.#group.describe();
    this.#update();
  }
  #local() {
    const date = this.#date.numbers();
    const time = clock.exec(this.#time.value.trim());
    if (!date || !time) return null;
    const local2 = { ...date, hour: Number(time[1]), minute: Number(time[2]), second: Number(time[3] ?? 0) };
    return local2.hour < 24 && local2.minute < 60 && local2.second < 60 ? local2 : null;
  }
  get #blank() {
    return this.#date.blank && this.#time.value.trim() === "";
  }
  #offset(local2) {
    const offsets = offsetsOf(this.#zone.value, local2);
    if (offsets.length === 2) return offsets.includes(this.#chosenOffset ?? NaN) ? this.#chosenOffset : null;
    return offsets[0] ?? null;
  }
  value() {
    if (this.#blank) return "";
    const local2 = this.#local();
    const offset = local2 ? this.#offset(local2) : null;
    if (!local2 || offset === null) return `${this.#date.text()}T${this.#time.value.trim()}`;
    return `${this.#date.text()}T${two(local2.hour)}:${two(local2.minute)}:${two(local2.second)}${clock.exec(this.#time.value.trim())?.[4] ?? ""}${offset === 0 && this.#zone.value === "UTC" ? "Z" : offsetText(offset)}`;
  }
  set(raw) {
    const text2 = typeof raw === "string" ? raw : "";
    const [, date = "", time = "", offset = ""] = /^(.*?)(?:[Tt ](.*?)([Zz]|[+-]\d\d:\d\d)?)?$/.exec(text2) ?? [];
    this.#date.set(date);
    const bare = time.replace(/\.0+$/, "");
    this.#time.value = /^\d\d:\d\d:00$/.test(bare) ? bare.slice(0, 5) : bare;
    if (offset) this.#zoneOf(offset.toUpperCase() === "Z" ? "+00:00" : offset);
    this.#update();
  }
  // A value that came with an offset is shown in that offset.
  #zoneOf(offset) {
    const minutes = (offset.startsWith("-") ? -1 : 1) * (Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6)));
    const local2 = this.#local();
    const own = ownZone();
    if (local2 && offsetsOf(own, local2).includes(minutes)) {
      this.#chosenOffset = minutes;
      this.#zone.value = own;
      return;
    }
    const zone = minutes === 0 ? "UTC" : `UTC${offset}`;
    if (![...this.#zone.options].some((option) => option.value === zone)) this.#zone.prepend(el("option", { value: zone }, zone));
    this.#zone.value = zone;
  }
  #update() {
    const local2 = this.#local();
    const offsets = local2 ? offsetsOf(this.#zone.value, local2) : [];
    this.#askTwice(offsets);
    const ready = local2 !== null && this.#offset(local2) !== null;
    this.#echo.textContent = ready ? t("date.echo", { value: String(this.value()) }) : "";
    this.#echo.hidden = !ready;
  }
  // Clocks go back over this hour: the person says which of the two is meant.
  #askTwice(offsets) {
    const key = offsets.length === 2 ? offsets.join() : "";
    if (key === this.#twiceFor) return;
    this.#twiceFor = key;
    this.#twice.replaceChildren();
    if (offsets.length !== 2) return;
    const name = uid("twice");
    this.#twice.append(el("fieldset", { class: "field" }, el("legend", null, t("date.twice")), offsets.map((offset, i) => {
      const id = uid("offset");
      const input = el("input", {
        type: "radio",
        id,
        name,
        checked: offset === this.#chosenOffset,
        on: {
          change: () => {
            this.#chosenOffset = offset;
            this.#update();
            this.#changed();
          }
        }
      });
      return el("div", { class: "option" }, input, el("label", { for: id }, t(i === 0 ? "date.first" : "date.second", { offset: offsetText(offset) })));
    })));
  }
  problem() {
    if (this.#blank) return null;
    const label2 = this.field.label || this.field.name;
    if (!this.#date.numbers()) return t("date.unreal", { label: label2 });
    const local2 = this.#local();
    if (!local2) return t("date.untimed", { label: label2 });
    const offsets = offsetsOf(this.#zone.value, local2);
    if (offsets.length === 0) return t("date.gap", { label: label2, zone: this.#zone.value });
    return this.#offset(local2) === null ? t("date.which", { label: label2 }) : null;
  }
  target() {
    if (!this.#date.numbers()) return this.#date.wrong();
    return this.#twice.querySelector("input") ?? this.#time;
  }
  fail(text2) {
    this.#group.fail(text2, [this.#echo.id]);
  }
};

// src/form/text.ts
var TextControl = class {
  field;
  node;
  #group;
  #input;
  #count = null;
  #spoken = null;
  #empty = null;
  #emptyRow = null;
  #timer = 0;
  constructor(field, setting) {
    this.field = field;
    const json = field.control === "json";
    const multi = isLong(field) || json;
    const input = multi ? el("textarea", { rows: json ? 5 : 4 }) : el("input", { type: "text" });
    this.#input = input;
    if (json) input.classList.add("code");
    input.setAttribute("autocomplete", field.autocomplete || (field.control === "email" ? "email" : "off"));
    input.dir = json || field.control === "uri" || field.control === "email" ? "ltr" : "auto";
    const mode = inputMode(field);
    if (mode) input.setAttribute("inputmode", mode);
    if (json || field.control === "email" || field.control === "uri" || mode === "numeric" || mode === "decimal") {
      input.spellcheck = false;
      input.setAttribute("autocapitalize", "none");
    }
    if (field.required) input.setAttribute("aria-required", "true");
    if (field.control === "integer" || field.control === "number") input.classList.add("short");
    const limit = multi && field.max_length ? field.max_length : 0;
    if (limit) {
      this.#count = el("p", { class: "hint", "aria-hidden": "true" });
      this.#spoken = el("p", { class: "away", role: "status" });
    }
    const one = [input];
    if (field.empty_allowed && field.required) {
      const id = uid("empty");
      this.#empty = el("input", { type: "checkbox", id, on: { change: setting.changed } });
      this.#emptyRow = el("div", { class: "option quiet", hidden: true }, this.#empty, el("label", { for: id }, t("field.send-empty")));
    }
    this.#group = new Group(field, setting, { fieldset: false, described: () => one, invalid: () => one }, input, this.#count, this.#spoken, this.#emptyRow);
    this.node = this.#group.node;
    input.id = this.#group.id;
    input.addEventListener("input", () => {
      this.#counted(true);
      setting.changed();
    });
    this.#group.describe();
    this.#counted(false);
  }
  // Length counts code points, as JSON Schema does.
  #counted(speak) {
    const limit = this.field.max_length;
    if (!this.#count || !limit) return;
    const used = [...this.#input.value].length;
    const text2 = used > limit ? t("count.over", { n: used - limit }) : t("count.left", { n: limit - used });
    this.#count.textContent = text2;
    if (!speak) return;
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => {
      if (this.#spoken) this.#spoken.textContent = text2;
    }, 1e3);
  }
  value() {
    return this.#input.value === "" && this.#empty?.checked ? { empty: true } : this.#input.value;
  }
  set(raw) {
    this.#input.value = typeof raw === "string" ? raw : Array.isArray(raw) ? raw.join("\n") : "";
    if (this.#empty && this.#emptyRow && typeof raw === "object" && !Array.isArray(raw)) {
      this.#empty.checked = true;
      this.#emptyRow.hidden = false;
    }
    this.#counted(false);
  }
  problem() {
    return null;
  }
  target() {
    return this.#input;
  }
  fail(text2) {
    if (text2 !== null && this.#emptyRow && this.#input.value === "") this.#emptyRow.hidden = false;
    this.#group.fail(text2);
  }
};
function inputMode(field) {
  if (field.input_mode) return field.input_mode;
  if (field.control === "number") return "decimal";
  if (field.control === "integer") return Number(field.minimum ?? -1) >= 0 ? "numeric" : "";
  if (field.control === "email") return "email";
  if (field.control === "uri") return "url";
  return "";
}

// src/form/form.ts
var Form = class {
  /** Error summary and fields. It is no <form>: the owner puts it into one with its buttons. */
  node;
  /** Why this form cannot be sent at all, as a sentence, or "". */
  stopped;
  /** Whether a value stands that nobody typed: then a review is due. */
  prefilled;
  controls;
  #summary;
  #errors = /* @__PURE__ */ new Set();
  constructor({ view, server, suggested, draft, changed }) {
    this.#summary = el("div", { class: "summary", tabIndex: -1, hidden: true, "data-part": "summary" });
    const controls = [];
    const nodes = [];
    let stopped = view.problem ?? "";
    let prefilled = false;
    for (const field of view.fields ?? []) {
      if (field.control === "unsupported") {
        nodes.push(unsupported(field));
        if (field.required) stopped ||= t("form.stopped", { label: field.label || field.name, reason: field.problem ?? "" });
        continue;
      }
      const earlier = ownOf(suggested, field.name) ?? null;
      const preset = earlier ?? field.default ?? null;
      const from = earlier !== null ? "earlier" : preset !== null && !blank(preset) ? "default" : "";
      prefilled ||= from !== "";
      const notes = (view.notes ?? []).filter((note) => note.name === field.name).map((note) => note.text);
      const setting = { server, from, notes, changed: () => this.#changed(changed) };
      const control = controlFor(field, setting);
      if (preset !== null) control.set(preset);
      const typed = ownOf(draft, field.name);
      if (typed !== void 0) control.set(typed);
      controls.push(control);
      nodes.push(control.node);
    }
    this.controls = controls;
    this.stopped = stopped;
    this.prefilled = prefilled;
    this.node = el("div", { class: "form" }, this.#summary, nodes, leftOut(view.left_out ?? []));
  }
  #changed(told) {
    for (const control of this.#errors) {
      if (control.problem() === null && looksRight(control.field, control.value())) {
        control.fail(null);
        this.#errors.delete(control);
      }
    }
    told?.(this.input());
  }
  /** input is every field's raw value. A cleared field is sent as empty, so that a default does not come back. */
  input() {
    return Object.fromEntries(this.controls.map((control) => [control.field.name, control.value()]));
  }
  /** ownErrors are the problems that only the page can see. */
  ownErrors() {
    return this.controls.flatMap((control) => {
      const text2 = control.problem();
      return text2 === null ? [] : [{ field: control.field.name, code: "local", text: text2 }];
    });
  }
  /** fail shows errors at their fields and in the summary, and moves the focus there. */
  fail(errors) {
    this.clear();
    const items = [];
    for (const error of errors) {
      const control = this.controls.find((control2) => control2.field.name === nameOf(error));
      if (!control) {
        items.push(el("li", null, bdi(error.text)));
        continue;
      }
      if (!this.#errors.has(control)) control.fail(error.text);
      this.#errors.add(control);
      items.push(el("li", null, el("a", {
        href: `#${control.target().id}`,
        on: {
          click: (event) => {
            event.preventDefault();
            const target = control.target();
            target.focus();
            target.scrollIntoView({ block: "center" });
          }
        }
      }, bdi(error.text))));
    }
    this.#summary.append(el("h4", null, t("error.summary")), el("ul", null, items));
    this.#summary.hidden = false;
    this.#tell(true);
    this.#summary.focus();
  }
  // The page that owns the whole window says so in its title; an embedded card
  // leaves the title alone.
  #tell(shown) {
    this.node.dispatchEvent(new CustomEvent("parley-problem", { bubbles: true, composed: true, detail: { shown } }));
  }
  /** clear removes all errors. */
  clear() {
    if (!this.#summary.hidden) this.#tell(false);
    for (const control of this.#errors) control.fail(null);
    this.#errors.clear();
    this.#summary.replaceChildren();
    this.#summary.hidden = true;
  }
};
function ownOf(input, name) {
  return input && Object.hasOwn(input, name) ? input[name] : void 0;
}
function nameOf(error) {
  if (error.field) return error.field;
  const [, name = ""] = /^\/([^/]*)/.exec(error.pointer ?? "") ?? [];
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}
function controlFor(field, setting) {
  switch (field.control) {
    case "boolean":
    case "choice":
    case "choices":
      return new ChoiceControl(field, setting);
    case "date":
      return new DateControl(field, setting);
    case "date-time":
      return new MomentControl(field, setting);
    default:
      return new TextControl(field, setting);
  }
}
function unsupported(field) {
  return el(
    "div",
    { class: "field unsupported", "data-field": field.name, "data-control": "unsupported" },
    el("p", { class: "label" }, el("span", { class: "foreign", dir: "auto" }, field.label || field.name)),
    el("p", { class: "hint" }, field.required ? t("field.undrawable.required") : t("field.undrawable"), " ", bdi(field.problem ?? ""))
  );
}
function blank(raw) {
  return raw === "" || Array.isArray(raw) && raw.length === 0;
}
function leftOut(list2) {
  if (list2.length === 0) return null;
  return el(
    "div",
    { class: "left-out", "data-part": "left-out" },
    el("p", null, t("form.left-out")),
    el("ul", null, list2.map((one) => el("li", null, el("strong", null, bdi(one.label || one.name)), " ", bdi(one.problem))))
  );
}
function stopNotice(reason) {
  return el("p", { class: "warning", "data-part": "stopped" }, el("strong", null, t("form.cannot-send")), " ", bdi(reason));
}

// src/chat/picker.ts
var Picker = class {
  node = el("section", { class: "picker", "aria-label": t("picker.title") });
  #options;
  #tools = /* @__PURE__ */ new Map();
  #signIns = /* @__PURE__ */ new Map();
  #cards = /* @__PURE__ */ new Map();
  #server = "";
  #tool = null;
  #form = null;
  #filter = "";
  #busy = false;
  #notice = "";
  #attempt = { payload: "", key: "" };
  #shape = "";
  #open = true;
  #first = true;
  constructor(options) {
    this.#options = options;
  }
  /** fold hides the picker behind a button, as long as nothing is picked. */
  fold() {
    if (!this.#tool) this.#open = false;
  }
  /** update draws what changed; call it inside keepFocus. first says that the conversation is empty. */
  update(first = this.#first) {
    this.#first = first;
    const { servers } = this.#options.store;
    for (const { id, sign_in } of servers) {
      if (this.#signIns.get(id) === "needed" && sign_in === "done") {
        this.#tools.delete(id);
        this.#cards.delete(id);
      }
      this.#signIns.set(id, sign_in);
    }
    if (!servers.some((server) => server.id === this.#server)) {
      this.#server = servers[0]?.id ?? "";
      this.#form?.clear();
      this.#tool = null;
    }
    if (this.#server) this.#load(this.#server);
    const tools = this.#tools.get(this.#server);
    const shape = JSON.stringify([servers, this.#server, tools, this.#tool?.name, this.#busy, this.#notice, this.#open, first, this.#options.store.loaded]);
    if (shape === this.#shape) return;
    this.#shape = shape;
    this.node.classList.toggle("folded", !this.#open);
    if (!this.#open) {
      fill(this.node, el("button", { type: "button", id: "another", "data-action": "another", on: { click: () => this.#unfold() } }, t("picker.another")));
      return;
    }
    fill(this.node, this.#tool ? null : el("h2", { id: "picker-title", tabIndex: -1 }, t(first ? "picker.title" : "picker.another")), this.#body(servers, tools));
    if (!this.#tool) this.#narrow();
  }
  #unfold() {
    this.#open = true;
    this.#redraw();
    this.node.querySelector("h2")?.focus({ preventScroll: true });
    this.node.scrollIntoView({ block: "nearest" });
  }
  #redraw() {
    keepFocus(this.#options.root, () => this.update());
  }
  #load(server, again = false) {
    if (this.#tools.has(server) && !again) return;
    this.#tools.set(server, { state: "loading" });
    this.#options.store.loadTools(server).then(
      (tools) => this.#tools.set(server, { state: "here", tools }),
      (error) => this.#tools.set(server, { state: "failed", text: sentence(error), signIn: error instanceof Problem && error.code === "sign_in" })
    ).finally(() => this.#redraw());
  }
  /** retry asks again for the tools of servers that could not be reached. */
  retry() {
    for (const [server, tools] of this.#tools) if (tools.state === "failed") this.#tools.delete(server);
  }
  #body(servers, tools) {
    if (servers.length === 0) return el("p", null, this.#options.store.loaded ? t("picker.no-servers") : t("loading"));
    if (this.#tool) return this.#arguments(this.#tool);
    return [
      el("p", { class: "hint" }, t("picker.no-model")),
      servers.length > 1 ? this.#serverChoice(servers) : el("p", { class: "one-server" }, rich("picker.server-one", { server: servers[0]?.id ?? "" })),
      this.#toolList(tools)
    ];
  }
  #serverChoice(servers) {
    return el("fieldset", { class: "servers" }, el("legend", null, t("picker.server")), el("div", { class: "segments" }, servers.map((server) => {
      const id = `server-${encodeURIComponent(server.id)}`;
      return el(
        "div",
        { class: "segment" },
        el("input", {
          type: "radio",
          name: "server",
          id,
          value: server.id,
          checked: server.id === this.#server,
          on: {
            change: () => {
              this.#server = server.id;
              this.#filter = "";
              this.#redraw();
            }
          }
        }),
        el("label", { for: id }, bdi(server.id), server.status === "failed" || server.status === "sign_in" ? el("span", { class: "quiet" }, " ", t(`server.${server.status}`)) : null)
      );
    })));
  }
  #toolList(tools) {
    if (!tools || tools.state === "loading") return el("p", { class: "quiet", role: "status" }, t("picker.loading", { server: this.#server }));
    if (tools.state === "failed") {
      if (tools.signIn && this.#options.store.servers.some((server) => server.id === this.#server && server.can_sign_in)) {
        const card = this.#cards.get(this.#server) ?? new SignInCard(this.#options.store, this.#server, "chat");
        this.#cards.set(this.#server, card);
        return el("div", { class: "notice" }, el("p", null, tools.text), card.node);
      }
      return el("div", { class: "notice bad" }, el("p", null, tools.text), el("button", {
        type: "button",
        "data-action": "retry-tools",
        on: {
          click: () => {
            this.#load(this.#server, true);
            this.#redraw();
          }
        }
      }, t("picker.retry")));
    }
    if (tools.tools.length === 0) return el("p", null, rich("picker.no-tools", { server: this.#server }));
    const box = el("input", {
      type: "search",
      id: "tool-filter",
      autocomplete: "off",
      spellcheck: false,
      value: this.#filter,
      on: {
        input: () => {
          this.#filter = box.value;
          this.#narrow();
        }
      }
    });
    const changed = tools.tools.filter((tool) => tool.changed);
    return [
      this.#notice ? el("p", { class: "notice bad", role: "alert" }, this.#notice) : null,
      changed.length > 0 ? el("div", { class: "actions" }, el("button", { type: "button", id: "seen-all", "data-action": "seen-all", on: { click: () => void this.#seen(changed) } }, t("picker.seen-all", { n: changed.length }))) : null,
      tools.tools.length > 5 ? el("div", { class: "field" }, el("label", { class: "label", for: box.id }, t("picker.find")), box) : null,
      el("ul", { class: "tools", role: "list", "aria-label": t("picker.tools", { server: this.#server }) }, tools.tools.map((tool) => {
        const titled = tool.title !== "" && tool.title !== tool.name;
        const id = toolId(tool);
        return el(
          "li",
          { "data-tool": tool.name },
          el(
            "button",
            { type: "button", id, "aria-describedby": tool.description ? `${id}-about` : void 0, on: { click: () => this.#choose(tool) } },
            el("span", { class: "tool-title" }, bdi(tool.title || tool.name)),
            titled ? [" ", el("code", { class: "value", dir: "ltr" }, tool.name)] : null
          ),
          tool.changed ? el("p", { class: "badge" }, t(tool.change?.new ? "picker.new" : "picker.changed")) : null,
          tool.description ? el("p", { class: "foreign about", dir: "auto", id: `${id}-about` }, tool.description) : null
        );
      })),
      el("p", { class: "hint", role: "status", "data-part": "found" })
    ];
  }
  // What the person has seen is recorded as it was shown: the server may change it again meanwhile.
  async #see(tools) {
    const body = { tools: tools.map(({ name, fingerprint }) => ({ name, fingerprint })) };
    try {
      await this.#options.store.api.write(`/v1/servers/${encodeURIComponent(this.#server)}/tools/seen`, { via: "chat", body });
      for (const tool of tools) {
        tool.changed = false;
        tool.change = null;
      }
      this.#notice = "";
    } catch (error) {
      this.#notice = sentence(error);
    }
    this.#redraw();
  }
  async #seen(tools) {
    await this.#see(tools);
    this.node.querySelector(this.#tool ? "#tool-heading" : "#picker-title")?.focus();
  }
  #narrow() {
    const words = this.#filter.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const items = [...this.node.querySelectorAll("[data-tool]")];
    let shown = 0;
    for (const item of items) {
      const text2 = (item.textContent ?? "").toLocaleLowerCase();
      item.hidden = !words.every((word) => text2.includes(word));
      if (!item.hidden) shown++;
    }
    const status = this.node.querySelector('[data-part="found"]');
    if (status) status.textContent = words.length > 0 ? t("choice.shown", { n: shown, total: items.length }) : "";
  }
  #choose(tool) {
    const before = this.#tool;
    this.#form?.clear();
    this.#tool = tool;
    this.#notice = "";
    this.#form = tool ? new Form({ view: tool.view, server: "" }) : null;
    this.#redraw();
    const target = tool ? this.node.querySelector("#tool-heading") : this.node.querySelector(`#${CSS.escape(before ? toolId(before) : "")}`);
    target?.focus();
  }
  #arguments(tool) {
    const form = this.#form ??= new Form({ view: tool.view, server: "" });
    return el(
      "form",
      {
        noValidate: true,
        autocomplete: "off",
        class: "arguments",
        on: {
          submit: (event) => {
            event.preventDefault();
            if (!this.#busy) void this.#run(tool, form);
          },
          keydown: (event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
          }
        }
      },
      el(
        "h2",
        { id: "tool-heading", tabIndex: -1 },
        bdi(tool.title || tool.name),
        " ",
        el("span", { class: "quiet" }, rich("picker.on", { server: this.#server })),
        tool.title && tool.title !== tool.name ? [" ", el("code", { class: "value", dir: "ltr" }, tool.name)] : null
      ),
      tool.description ? foreign("p", tool.description, "about") : null,
      this.#notice ? el("p", { class: "notice bad", role: "alert" }, this.#notice) : null,
      changeNode(tool.change, "change.tool"),
      tool.changed ? el("div", { class: "actions" }, el("button", { type: "button", id: "seen", "data-action": "seen", on: { click: () => void this.#seen([tool]) } }, t("picker.seen"))) : null,
      tool.view.fields?.length ? null : el("p", { class: "quiet" }, t("picker.no-arguments")),
      form.node,
      form.stopped ? stopNotice(form.stopped) : null,
      el(
        "div",
        { class: "actions" },
        form.stopped ? null : el("button", { type: "submit", class: "primary", id: "run", "data-action": "run", "aria-disabled": this.#busy ? "true" : null }, this.#busy ? t("picker.running") : rich("picker.run", { tool: toolCalled(tool.title, tool.name) })),
        el("button", { type: "button", id: "other-tool", "data-action": "other-tool", on: { click: () => this.#choose(null) } }, t("picker.other"))
      )
    );
  }
  async #run(tool, form) {
    const own = form.ownErrors();
    if (own.length > 0) return form.fail(own);
    const body = { conversation: this.#options.conversation(), server: this.#server, tool: tool.name, input: form.input() };
    const payload = JSON.stringify(body);
    if (this.#attempt.payload !== payload) this.#attempt = { payload, key: randomId(16) };
    this.#busy = true;
    this.#notice = "";
    form.clear();
    this.#redraw();
    let problem = null;
    try {
      const call = await this.#options.store.api.write("/v1/calls", { via: "chat", body, key: this.#attempt.key });
      this.#attempt = { payload: "", key: "" };
      if (tool.changed) void this.#see([tool]);
      this.#tool = null;
      this.#form = null;
      this.#filter = "";
      this.#open = false;
      this.#options.store.takeCall(call);
      this.#options.ran(call);
    } catch (error) {
      if (error instanceof Problem && error.status === 422 && error.errors.length > 0) problem = error;
      else this.#notice = sentence(error);
    } finally {
      this.#busy = false;
      this.#redraw();
      if (problem) form.fail(problem.errors);
    }
  }
};
function toolId(tool) {
  return `tool-${encodeURIComponent(tool.name)}`;
}

// src/chat/refusals.ts
var Refusals = class {
  node = el("section", { class: "refusals", hidden: true, tabIndex: -1, "aria-label": t("refusals.title"), "data-part": "refusals" });
  #store;
  #via;
  #notice = null;
  #busy = false;
  #shape = "";
  constructor(store, via) {
    this.#store = store;
    this.#via = via;
  }
  /** update draws what changed; call it inside keepFocus. */
  update() {
    const refusals = this.#store?.refusals ?? [];
    const may = this.#store?.may("answer") ?? false;
    const shape = JSON.stringify([refusals, may, this.#notice]);
    if (shape === this.#shape) return;
    this.#shape = shape;
    this.node.hidden = refusals.length === 0 && !this.#notice;
    fill(
      this.node,
      this.#notice ? el("p", { class: this.#notice.bad ? "notice bad" : "notice", role: this.#notice.bad ? "alert" : "note" }, this.#notice.text) : null,
      refusals.map((one) => this.#row(one, may))
    );
  }
  #row(one, may) {
    const id = encodeURIComponent(one.server);
    return el(
      "div",
      { class: "warning", "data-refusal": one.server },
      el("p", null, rich("refusals.text", { n: one.count, server: one.server }), " ", t("refusals.since", { at: when(one.since) })),
      may ? el(
        "div",
        { class: "actions" },
        el("button", { type: "button", id: `refusals-stop-${id}`, "data-action": "stop-server", on: { click: () => void this.#do(() => this.#stop(one.server)) } }, rich("refusals.stop", { server: one.server })),
        el(
          "button",
          { type: "button", id: `refusals-clear-${id}`, "data-action": "clear-refusals", on: { click: () => void this.#do(() => this.#clear(one.server)) } },
          t("refusals.clear"),
          el("span", { class: "away" }, " (", bdi(one.server), ")")
        )
      ) : null
    );
  }
  async #stop(server) {
    const { stopped } = await this.#api.write(`/v1/servers/${encodeURIComponent(server)}/stop`, { via: this.#via });
    const text2 = t("refusals.stopped", { n: stopped, server });
    this.#notice = { text: text2, bad: false };
    announce(text2);
    await this.#clear(server);
  }
  async #clear(server) {
    await this.#api.write("/v1/refusals/clear", { via: this.#via, body: { server } });
  }
  get #api() {
    if (!this.#store) throw new Error("the element is not in the page yet");
    return this.#store.api;
  }
  async #do(work) {
    if (this.#busy) return;
    this.#busy = true;
    this.#notice = null;
    try {
      await work();
    } catch (error) {
      this.#notice = { text: sentence(error), bad: true };
    }
    this.#busy = false;
    await this.#store?.loadRefusals().catch(() => void 0);
    this.update();
    if (!this.node.hidden) this.node.focus({ preventScroll: true });
  }
};

// src/lib/base.css
var base_default = '/* What all roots share: tokens, text, buttons, inputs. Integrators set --parley-*. */\n:host {\n	--_ink: var(--parley-ink, light-dark(#1b2026, #e7e9ec));\n	--_quiet: var(--parley-quiet, light-dark(#56606b, #a3acb5));\n	--_paper: var(--parley-paper, light-dark(#ffffff, #1b1f24));\n	--_ground: var(--parley-ground, light-dark(#f6f6f3, #121518));\n	--_line: var(--parley-line, light-dark(#d9dbde, #373e46));\n	--_edge: var(--parley-edge, light-dark(#7b858f, #7f8a95));\n	--_accent: var(--parley-accent, light-dark(#0a5f73, #6fc7da));\n	--_on-accent: var(--parley-on-accent, light-dark(#ffffff, #06222a));\n	--_tint: var(--parley-tint, light-dark(#e8f1f3, #1d2c31));\n	--_ask: var(--parley-ask, light-dark(#8a5a00, #e5b656));\n	--_ask-tint: var(--parley-ask-tint, light-dark(#fdf8ec, #221e15));\n	--_bad: var(--parley-bad, light-dark(#b0231b, #ff948a));\n	--_bad-tint: var(--parley-bad-tint, light-dark(#fdf1f0, #2b1a19));\n	--_good: var(--parley-good, light-dark(#1b6e3c, #7ad3a0));\n	--_radius: var(--parley-radius, 10px);\n	--_mono: ui-monospace, "SFMono-Regular", Menlo, Consolas, "Liberation Mono", monospace;\n	display: block;\n	color: var(--_ink);\n	font-family: var(--parley-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif);\n	font-size: 1rem;\n	line-height: 1.5;\n}\n:host([hidden]), [hidden] { display: none !important }\n*, ::before, ::after { box-sizing: border-box }\nh1, h2, h3, h4, p, ul, dl, dd, fieldset, pre, figure { margin: 0; padding: 0; border: 0 }\nfieldset { min-inline-size: 0 }\nh1 { font-size: 1.5rem; line-height: 1.25; font-weight: 650; letter-spacing: -.01em }\nh2 { font-size: 1.0625rem; line-height: 1.35; font-weight: 600 }\nh3 { font-size: 1.125rem; line-height: 1.35; font-weight: 650 }\nh4 { font-size: 1rem; line-height: 1.4; font-weight: 650 }\np, li, dt, dd, label, legend, code, pre, summary, h1, h2, h3, h4, button, .foreign { overflow-wrap: anywhere }\n.foreign { white-space: pre-wrap; unicode-bidi: isolate }\n.quiet, .hint, .time { color: var(--_quiet) }\n.hint, .time { font-size: .9375rem }\n/* A status that says nothing takes no room, and stays where screen readers found it. */\n[role="status"]:empty { position: absolute }\n.eyebrow { font-size: .8125rem; font-weight: 600; letter-spacing: .02em; color: var(--_quiet) }\n.away {\n	position: absolute; inline-size: 1px; block-size: 1px; margin: -1px; overflow: hidden;\n	clip-path: inset(50%); white-space: nowrap;\n}\na { color: var(--_accent); text-underline-offset: .15em }\ncode, pre, .code { font-family: var(--_mono); font-size: .875em }\ncode.value { color: var(--_quiet) }\npre {\n	white-space: pre-wrap; padding: .75rem; border: 1px solid var(--_line); border-radius: 6px;\n	background: var(--_ground); max-block-size: 24rem; overflow: auto;\n}\n\nbutton, a.button {\n	font: inherit; font-weight: 550; color: var(--_ink); background: var(--_paper); text-decoration: none; text-align: center;\n	border: 1px solid var(--_edge); border-radius: 7px; padding: .4375rem .875rem; min-block-size: 2.5rem; cursor: pointer;\n}\nbutton:hover, a.button:hover { border-color: var(--_ink); background: var(--_ground) }\nbutton.primary { color: var(--_on-accent); background: var(--_accent); border-color: var(--_accent) }\nbutton.primary:hover { background: color-mix(in oklab, var(--_accent) 86%, var(--_ink)) }\nbutton[aria-disabled="true"] { opacity: .65; cursor: progress }\nbutton.link {\n	font-weight: inherit; color: var(--_accent); background: none; border: 0; padding: 0; min-block-size: 1.5rem;\n	text-decoration: underline; text-underline-offset: .15em; text-align: start;\n}\n:focus-visible { outline: 3px solid var(--_accent); outline-offset: 2px; border-radius: 4px }\n[tabindex="-1"]:focus-visible { outline-offset: 4px }\n.actions { display: flex; flex-wrap: wrap; gap: .625rem; align-items: center }\n\ninput[type="text"], input[type="search"], textarea, select {\n	font: inherit; color: var(--_ink); background: var(--_paper); border: 1px solid var(--_edge); border-radius: 6px;\n	padding: .4375rem .625rem; inline-size: 100%; min-block-size: 2.5rem;\n}\ntextarea { resize: vertical; display: block }\ntextarea.code { font-family: var(--_mono); font-size: .875rem }\ninput[type="radio"], input[type="checkbox"] { inline-size: 1.25rem; block-size: 1.25rem; margin: 0; accent-color: var(--_accent); flex: none }\n\n.notice, .warning, .note {\n	padding: .625rem .875rem; border-radius: 6px; border: 1px solid var(--_line); border-inline-start: 4px solid var(--_edge); background: var(--_paper);\n}\n.change { display: grid; gap: .75rem }\n.change > div { display: grid; gap: .25rem }\n.notice button { margin-block-start: .5rem }\n.notice.bad, .warning { border-inline-start-color: var(--_bad); background: var(--_bad-tint) }\n.rows { display: grid; gap: .5rem }\n.rows > div { display: grid; grid-template-columns: minmax(6rem, 12rem) 1fr; gap: .125rem 1rem }\n.rows dt { color: var(--_quiet) }\n.rows .from { display: block; font-size: .875rem; color: var(--_quiet); font-style: italic }\n@media (max-width: 30rem) {\n	.rows > div { grid-template-columns: 1fr }\n}\ndetails > summary { cursor: pointer; min-block-size: 1.5rem; inline-size: fit-content }\ndetails[open] > summary { margin-block-end: .5rem }\n@media (forced-colors: active) {\n	button.primary { forced-color-adjust: none; color: HighlightText; background: Highlight; border-color: Highlight }\n	.notice, .warning, .note { border-inline-start-color: CanvasText }\n}\n';

// src/form/form.css
var form_default = '/* Fields of a form. */\n.form { display: grid; gap: 1.375rem }\n/* A question without fields leaves no gap. */\n.form:not(:has(> :not([hidden]))) { display: none }\n.field { display: grid; gap: .375rem }\nfieldset.field { display: block }\nfieldset.field > * + * { margin-block-start: .375rem }\n.field > .label, .field legend { font-weight: 600 }\n.field legend { padding: 0 }\n.optional { font-weight: 400; color: var(--_quiet) }\n.hint.mark, .hint .mark { font-style: italic }\n.field .error { color: var(--_bad); font-weight: 600 }\n.failed { border-inline-start: 4px solid var(--_bad); padding-inline-start: .875rem }\n.failed input[type="text"][aria-invalid="true"], .failed textarea[aria-invalid="true"] { border-color: var(--_bad); border-width: 2px }\ninput.short { max-inline-size: 12rem }\n\n.options { display: grid; gap: .125rem }\n.options.scroll { max-block-size: 18rem; overflow-y: auto; border: 1px solid var(--_line); border-radius: 6px; padding: .375rem .625rem; background: var(--_paper) }\n.option { display: flex; gap: .625rem; align-items: flex-start; padding-block: .3125rem; min-block-size: 2rem }\n.option input { margin-block-start: .125rem }\n.option label { flex: 1; min-inline-size: 0 }\n.option-hint { display: block; color: var(--_quiet); font-size: .9375rem }\n.filter { display: grid; gap: .25rem; margin-block-end: .5rem; max-inline-size: 22rem }\n.filter label { font-size: .9375rem }\n\n.parts { display: flex; flex-wrap: wrap; gap: .75rem 1rem }\n.parts + .parts, fieldset .twice { margin-block-start: .75rem !important }\n.part { display: grid; gap: .25rem }\n.part.wide { flex: 1; min-inline-size: 12rem }\n.part label { font-size: .9375rem }\ninput.w2 { inline-size: 4rem } input.w3 { inline-size: 7.5rem } input.w4 { inline-size: 5.5rem } input.w5 { inline-size: 7rem }\n.echo { font-variant-numeric: tabular-nums }\n.twice:empty { display: none }\n\n.summary { border: 2px solid var(--_bad); border-radius: 6px; padding: .875rem 1rem; background: var(--_bad-tint) }\n.summary ul { padding-inline-start: 1.25rem; margin-block-start: .375rem }\n.summary a { color: var(--_bad); font-weight: 600 }\n.unsupported, .left-out { color: var(--_quiet) }\n.left-out ul { padding-inline-start: 1.25rem }\n';

// src/chat/chat.css
var chat_default = ':host { display: block }\n.empty { padding-block: 1rem 2rem; display: grid; gap: .5rem; max-inline-size: 38rem }\n.empty p { color: var(--_quiet); font-size: 1.0625rem }\n.timeline { display: grid; gap: 2.5rem }\n.timeline:not(:empty) { margin-block-end: 2.5rem }\n.call { display: grid; gap: 1rem; scroll-margin-block: 1rem }\n.came, .progress { scroll-margin-block: 1rem }\n.questions { display: grid; gap: 1rem }\n.questions > * { scroll-margin-block: 1rem }\n.questions:empty, .came:empty { display: none }\n\n.bubble { display: grid; gap: .75rem; padding: .875rem 1.125rem; border-radius: var(--_radius); border: 1px solid var(--_line) }\n.did .bubble { background: var(--_tint); border-color: transparent; margin-inline-start: clamp(0rem, 8%, 5rem); border-end-end-radius: 2px }\n.came .bubble { background: var(--_paper); margin-inline-end: clamp(0rem, 8%, 5rem); border-end-start-radius: 2px }\n.time { font-size: .875rem }\n.result-text { font-size: 1.0625rem }\n.attachment { color: var(--_quiet); font-style: italic }\n.verdict { font-weight: 600 }\n.verdict.bad { color: var(--_bad) }\n.json { font-size: .9375rem; color: var(--_quiet) }\n.json pre { color: var(--_ink) }\n\n.state { display: grid; gap: .5rem; padding-inline-start: .25rem }\n.state .title { display: flex; gap: .5rem; align-items: baseline }\n.state .mark { flex: none; inline-size: .625rem; block-size: .625rem; border-radius: 50%; border: 2px solid var(--_edge) }\n.state > p:not(.title) { color: var(--_quiet) }\n.state .actions { margin-block-start: .25rem }\n[data-state="done"].state { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center }\n[data-state="done"].state .actions { margin: 0 }\n.state.busy .mark { border-color: var(--_accent); border-inline-end-color: transparent }\n.state.asks .mark { background: var(--_ask); border-color: var(--_ask) }\n.state.good .mark { background: var(--_good); border-color: var(--_good) }\n.state.bad .mark, .state.wrong .mark { background: var(--_bad); border-color: var(--_bad); border-radius: 2px }\n.state.bad { border: 1px solid var(--_line); border-inline-start: 5px solid var(--_bad); border-radius: var(--_radius); padding: .875rem 1.125rem; background: var(--_paper) }\n@media (prefers-reduced-motion: no-preference) {\n	.state.busy .mark { animation: turn 1.2s linear infinite }\n	@keyframes turn { to { rotate: 1turn } }\n}\n.ways { display: grid; gap: .75rem; margin-block-start: .5rem }\n.way { display: grid; grid-template-columns: 9.5rem 1fr; gap: .25rem 1rem; align-items: start }\n\n.picker { display: grid; gap: 1rem; padding: 1.25rem; background: var(--_paper); border: 1px solid var(--_line); border-radius: var(--_radius) }\n.picker.folded { padding: 0; border: 0; background: none; justify-items: start }\nfieldset.servers { display: grid; gap: .375rem }\nlegend { padding: 0 }\n.servers legend { font-weight: 600; margin-block-end: .375rem }\n.segments { display: flex; flex-wrap: wrap; gap: .5rem }\n.segment { display: flex; align-items: center; gap: .5rem; padding: .375rem .75rem; border: 1px solid var(--_line); border-radius: 7px }\n.segment:has(:checked) { border-color: var(--_accent); background: var(--_tint) }\n.tools { list-style: none; display: grid; max-block-size: 26rem; overflow-y: auto; border: 1px solid var(--_line); border-radius: 8px }\n.tools li { position: relative; padding: .625rem .875rem; display: grid; gap: .125rem }\n.tools li + li { border-block-start: 1px solid var(--_line) }\n.tools li:hover { background: var(--_ground) }\n.tools button { all: unset; cursor: pointer; font-weight: 600; display: flex; flex-wrap: wrap; gap: 0 .625rem; align-items: baseline; overflow-wrap: anywhere; min-inline-size: 0 }\n.tools button::after { content: ""; position: absolute; inset: 0 }\n.tools button:focus-visible::after { outline: 3px solid var(--_accent); outline-offset: -3px; border-radius: 8px }\n.tools button code { font-weight: 400 }\n.tools .about { color: var(--_quiet); font-size: .9375rem; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden }\n.arguments { display: grid; gap: 1.25rem }\n.arguments h2 code { font-weight: 400 }\n.about { color: var(--_quiet) }\n\n.badge { inline-size: fit-content; font-size: .8125rem; font-weight: 500; border: 1px solid var(--_edge); border-radius: 999px; padding-inline: .5rem }\n\n\n.refusals { display: grid; gap: .75rem }\n.refusals:not(:empty) { margin-block-end: 1.5rem }\n.refusals .actions { margin-block-start: .5rem }\n.inbox { display: grid; gap: 1.25rem }\n.inbox .refusals { margin: 0 }\n.inbox .questions { gap: 2rem }\n@media (max-width: 30rem) {\n	.picker { padding: 1rem .875rem }\n	.way { grid-template-columns: 1fr }\n	.way button { inline-size: 100% }\n}\n@media (forced-colors: active) {\n	.did .bubble { border-color: CanvasText }\n	.call .state .mark { background: CanvasText; border-color: CanvasText; forced-color-adjust: none }\n	.segment:has(:checked) { border: 2px solid Highlight }\n}\n';

// src/chat/chat.ts
var slack = 100;
var ParleyChat = class extends StoreElement {
  static observedAttributes = ["conversation-id"];
  #root;
  #leave = [];
  #calls = /* @__PURE__ */ new Map();
  #picker = null;
  #refusals = new Refusals(null, "chat");
  #folded = false;
  #news = null;
  #title = el("h1", { class: "away" }, t("chat.title"));
  #timeline = el("div", { class: "timeline" });
  #empty = el("div", { class: "empty" });
  constructor() {
    super();
    this.#root = shadow(this, base_default, form_default, chat_default);
  }
  get conversationId() {
    return this.getAttribute("conversation-id") ?? "";
  }
  connectedCallback() {
    this.takeEarlyProperties();
    const store = this.store;
    this.#picker = new Picker({
      store,
      root: this.#root,
      conversation: () => this.conversationId,
      ran: (call) => this.show(call.id)
    });
    this.#refusals = new Refusals(store, "chat");
    fill(this.#root, this.#refusals.node, this.#title, this.#empty, this.#timeline, this.#picker.node);
    this.#leave = [
      this.subscribe((change) => {
        if (change.kind === "conversations" || change.kind === "asks") return;
        if (change.kind === "connection" && store.connection === "live") this.#picker?.retry();
        this.#render();
      }),
      store.watch(this.conversationId)
    ];
    store.start();
    this.#render();
  }
  disconnectedCallback() {
    for (const leave of this.#leave) leave();
    this.#leave = [];
  }
  attributeChangedCallback(_name, before, after) {
    if (!this.isConnected || before === after) return;
    this.disconnectedCallback();
    this.#calls.clear();
    this.#folded = false;
    this.#news = null;
    fill(this.#timeline);
    this.connectedCallback();
  }
  /** show scrolls to a call and gives it the focus. */
  show(call) {
    this.#render();
    this.#calls.get(call)?.focus();
  }
  #render() {
    const following = this.#atEnd();
    this.#draw();
    const news = [...this.#calls.values()].map((view) => view.newest()).filter((one) => one !== null);
    const fresh = news.filter((one) => this.#news && !this.#news.has(one.name)).at(-1);
    if (this.#news || news.length > 0 || this.store.loaded) this.#news = new Set(news.map((one) => one.name));
    if (fresh && following) fresh.node.scrollIntoView({ block: "nearest" });
  }
  // Whether the end of the conversation is in sight and nobody is typing: only
  // then may the page scroll to what is new. The focus stays where it is.
  #atEnd() {
    let active = document.activeElement;
    while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
    if (active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement && (active.type === "text" || active.type === "search")) return false;
    return this.getBoundingClientRect().bottom <= window.innerHeight + slack;
  }
  #draw() {
    const store = this.store;
    keepFocus(this.#root, () => {
      const calls = store.callsOf(this.conversationId);
      for (const call of calls) {
        let view = this.#calls.get(call.id);
        if (!view) {
          view = new CallView(call.id, { store, via: "chat", show: (id) => this.show(id) });
          this.#calls.set(call.id, view);
        }
        view.update();
      }
      calls.forEach((call, i) => {
        const node = this.#calls.get(call.id)?.node;
        if (node && this.#timeline.children[i] !== node) this.#timeline.insertBefore(node, this.#timeline.children[i] ?? null);
      });
      this.#refusals.update();
      const runs = store.may("call");
      this.#empty.hidden = calls.length > 0 || !runs;
      this.#title.hidden = !this.#empty.hidden;
      if (this.#picker) this.#picker.node.hidden = !runs;
      if (!runs) return;
      if (calls.length === 0 && this.#empty.childElementCount === 0) {
        append(this.#empty, [el("h1", null, t("chat.empty")), el("p", null, t("chat.empty.text"))]);
      }
      if (calls.length > 0 && !this.#folded) {
        this.#folded = true;
        this.#picker?.fold();
      }
      this.#picker?.update(calls.length === 0);
    });
  }
};

// src/chat/item.ts
var Item = class {
  node;
  #context = el("div", { class: "context" });
  #store;
  #kind;
  #id;
  constructor(store, kind, id) {
    this.#store = store;
    this.#kind = kind;
    this.#id = id;
    const card = document.createElement(`parley-${kind}`);
    card.store = store;
    card.via = "inbox";
    card.setAttribute(`${kind}-id`, id);
    this.node = el("div", { class: "item" }, this.#context, card);
    this.update();
  }
  /** update says what the card belongs to as soon as that is known. */
  update() {
    const row = this.#kind === "question" ? this.#store.question(this.#id) : this.#store.approval(this.#id);
    if (!row || this.#context.childElementCount > 0) return;
    const { conversation, call } = row;
    append(this.#context, [
      el("h2", null, conversation || !("asker" in row) ? rich("inbox.context", { tool: toolCalled(row.tool_title, row.tool) }) : rich("inbox.of-others", { who: row.asker.subject })),
      conversation ? this.#show(conversation, call) : null
      // a call of somebody else is not in this person's conversations
    ]);
  }
  #show(conversation, call) {
    return el("button", {
      type: "button",
      class: "link",
      on: {
        click: () => this.node.dispatchEvent(new CustomEvent("parley-show", { bubbles: true, composed: true, detail: { conversation, call } }))
      }
    }, t("inbox.show"));
  }
};

// src/chat/item.css
var item_default = ".item { display: grid; gap: .5rem }\n.context { display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline; color: var(--_quiet) }\n.context h2 { font-size: .9375rem; font-weight: 500 }\n.context:empty { display: none }\n";

// src/chat/inbox.ts
function waitingWords(store) {
  const questions = store.waiting().length;
  const permissions = store.deciding().length;
  const n = questions + permissions;
  if (permissions === 0) return { n, words: t(questions === 0 ? "inbox.none" : "inbox.waiting", { n: questions }) };
  const decide = t("inbox.permissions", { n: permissions });
  return { n, words: questions === 0 ? decide : t("inbox.both", { questions: t("inbox.waiting", { n: questions }), permissions: decide }) };
}
var ParleyInbox = class extends StoreElement {
  #root;
  #leave = null;
  #refusals = new Refusals(null, "inbox");
  #items = /* @__PURE__ */ new Set();
  #title = el("h1", { tabIndex: -1 });
  #list = el("div", { class: "questions" });
  #note = el("p", { class: "quiet" });
  constructor() {
    super();
    this.#root = shadow(this, base_default, item_default, chat_default);
  }
  connectedCallback() {
    this.takeEarlyProperties();
    this.#refusals = new Refusals(this.store, "inbox");
    this.#leave = this.subscribe(({ kind }) => {
      if (kind === "question" || kind === "approval" || kind === "snapshot" || kind === "refusals") this.#render();
    });
    this.store.start();
    fill(this.#root, el("div", { class: "inbox" }, this.#title, this.#note, this.#refusals.node, this.#list));
    this.#render();
  }
  disconnectedCallback() {
    this.#leave?.();
    this.#leave = null;
  }
  #render() {
    const { store } = this;
    this.#title.textContent = store.loaded ? waitingWords(store).words : t("loading");
    this.#note.textContent = t("inbox.about");
    keepFocus(this.#root, () => this.#refusals.update());
    const waiting = [...store.waiting().map((question) => ({ question, created: question.created_at })), ...store.asking().map((approval) => ({ approval, created: approval.created_at }))];
    waiting.sort((a, b) => Date.parse(a.created) - Date.parse(b.created));
    for (const one of waiting) {
      const row = "question" in one ? one.question : one.approval;
      if (this.#items.has(row.id)) continue;
      const { node } = new Item(this.store, "question" in one ? "question" : "approval", row.id);
      this.#items.add(row.id);
      this.#list.append(node);
    }
  }
};

// src/lib/shown.ts
var enough = 1e3;
var half = 0.5;
function whenShown(node, shown) {
  let inSight = false;
  let timer2 = 0;
  const judge = () => {
    const counts = inSight && !document.hidden;
    if (!counts) {
      window.clearTimeout(timer2);
      timer2 = 0;
    } else if (timer2 === 0) {
      timer2 = window.setTimeout(() => {
        leave();
        shown(`in view ${enough / 1e3} s, ${window.innerWidth}x${window.innerHeight}`);
      }, enough);
    }
  };
  const observer = new IntersectionObserver((entries) => {
    const entry = entries.at(-1);
    if (!entry) return;
    const view = entry.rootBounds?.height ?? window.innerHeight;
    inSight = entry.isIntersecting && (entry.intersectionRatio >= half || entry.intersectionRect.height >= view * half);
    judge();
  }, { threshold: [0, 0.1, 0.2, 0.3, 0.4, half, 0.75, 1] });
  const leave = () => {
    observer.disconnect();
    window.clearTimeout(timer2);
    document.removeEventListener("visibilitychange", judge);
  };
  document.addEventListener("visibilitychange", judge);
  observer.observe(node);
  return leave;
}

// src/card/approval.css
var approval_default = "/* The host's own request: a double frame and a shield, where a question has a bar. */\n.permission {\n	display: grid; gap: 1rem; padding: 1.125rem 1.25rem 1.25rem; background: var(--_paper);\n	border: 4px double var(--_accent); border-radius: 2px; scroll-margin-block: 1rem;\n}\n.permission > header { display: grid; gap: .25rem }\n.permission .eyebrow { color: var(--_accent); display: flex; align-items: center; gap: .5rem }\n.shield { flex: none; inline-size: .8125rem; block-size: 1rem; background: var(--_accent); clip-path: polygon(0 10%, 50% 0, 100% 10%, 100% 55%, 50% 100%, 0 55%) }\n.permission.record { border: 1px solid var(--_line); gap: .75rem; padding-block: .875rem 1rem }\n.permission.record h3 { font-size: 1rem }\n.permission.record .eyebrow { color: var(--_quiet) }\n.permission.record .shield { background: var(--_edge) }\n.sent { display: grid; gap: .625rem; padding: .875rem 1rem; border: 1px solid var(--_line); border-radius: 6px; background: var(--_ground) }\n.sent dd { font-weight: 550 }\n.sent pre { font-weight: 400; background: var(--_paper) }\n.answered ul { padding-inline-start: 1.25rem; display: grid; gap: .25rem }\n.answered h4 { margin-block-end: .25rem }\n.help, .permission > details { font-size: .9375rem; color: var(--_quiet) }\n@media (max-width: 30rem) {\n	.permission { padding-inline: .75rem }\n	.sent { padding-inline: .625rem }\n	.actions > button { flex: 1 1 auto }\n}\n@media (forced-colors: active) {\n	.shield { forced-color-adjust: none; background: CanvasText }\n}\n";

// src/card/approval.ts
var mostRows = 200;
var reaches = ["once", "conversation", "always"];
var ParleyApproval = class extends StoreElement {
  static observedAttributes = ["approval-id"];
  #root;
  #via = "chat";
  #leave = null;
  #unwatch = () => void 0;
  #watched = false;
  #notice = null;
  #shape = "";
  #attempt = { payload: "", key: "" };
  #headingId = uid("approval");
  #presses;
  constructor() {
    super();
    this.#root = shadow(this, base_default, approval_default);
    this.#presses = new Presses(this.#root, (part) => part.startsWith("allow-"));
  }
  get approvalId() {
    return this.getAttribute("approval-id") ?? "";
  }
  /** The surface that decisions come from. */
  get via() {
    return this.#via;
  }
  set via(via) {
    this.#via = via;
  }
  connectedCallback() {
    this.takeEarlyProperties();
    const store = this.store;
    this.#leave = this.subscribe((change) => {
      const { kind, id } = change;
      const mine = kind === "approval" && id === this.approvalId || kind === "call" && id === this.#approval?.call;
      if (mine || kind === "snapshot" || kind === "session" || kind === "servers") this.#render();
    });
    store.start();
    if (!this.#approval && this.approvalId) void store.loadApproval(this.approvalId).catch((error) => this.#failed(error));
    this.#render();
  }
  disconnectedCallback() {
    this.#leave?.();
    this.#leave = null;
    this.#unwatch();
    this.#watched = false;
    this.#presses.drawn("");
  }
  attributeChangedCallback() {
    if (!this.isConnected) return;
    this.disconnectedCallback();
    this.#notice = null;
    this.#shape = "";
    fill(this.#root);
    this.connectedCallback();
  }
  get #approval() {
    return this.store.approval(this.approvalId);
  }
  get #path() {
    return `/v1/approvals/${encodeURIComponent(this.approvalId)}`;
  }
  // Large arguments are not in the row of a list or an event; the approval by its id has them.
  #arguments(approval) {
    return { value: approval.arguments, size: approval.arguments_size ?? 0 };
  }
  #render() {
    const approval = this.#approval;
    if (!approval) {
      if (this.#shape === "") fill(this.#root, this.#notice ? el("section", { class: "permission" }, this.#noticeNode()) : null);
      return;
    }
    this.#watch(approval);
    this.#presses.drawn(approval.state === "open" && this.#mayDecide(approval) ? approval.id : "");
    const args = this.#arguments(approval);
    const where = this.store.server(approval.server);
    const shape = JSON.stringify([{ ...approval, version: 0 }, args.size, this.#me, this.#mayDecide(approval), this.#notice, where?.domain, where?.address]);
    if (shape === this.#shape) return;
    this.#shape = shape;
    const open = new Set([...this.#root.querySelectorAll("details[open]")].map((one) => one.id));
    const had = focused(this.#root) !== null;
    const kept = keepFocus(this.#root, () => fill(this.#root, this.#card(approval, args)));
    for (const one of this.#root.querySelectorAll("details")) one.open = open.has(one.id);
    if (had && !kept) this.#focusHeading();
  }
  #watch(approval) {
    if (approval.state !== "open") return this.#unwatch();
    if (this.#watched) return;
    this.#watched = true;
    this.#unwatch = whenShown(this, (evidence) => void this.store.api.write(`${this.#path}/shown`, { via: this.via, body: { evidence }, keepalive: true }).catch(() => void 0));
  }
  get #me() {
    return this.store.session?.principal ?? null;
  }
  #mayDecide(approval) {
    return approval.can_decide && this.store.may("answer");
  }
  #focusHeading() {
    this.#root.getElementById(this.#headingId)?.focus();
  }
  // ---- what is asked
  #card(approval, args) {
    const open = approval.state === "open";
    const tool = toolCalled(visible(approval.tool_title), visible(approval.tool));
    const { server } = approval;
    const who = approval.actor === "model" ? approval.mine ? "model" : "model-of" : approval.mine ? "you" : "person";
    const key = `approval.${open ? "asks" : "asked"}.${who}`;
    return el(
      "section",
      { class: `permission ${open ? "open" : "record"}`, "aria-labelledby": this.#headingId, "data-approval": approval.id, "data-state": approval.state },
      el(
        "header",
        null,
        el("p", { class: "eyebrow" }, el("span", { class: "shield", "aria-hidden": "true" }), t("approval.kind")),
        el("h3", { id: this.#headingId, tabIndex: -1, "data-part": "heading" }, rich(key, { tool, server, who: named2(approval.asker) }))
      ),
      this.#noticeNode(),
      open ? null : el("p", { class: "outcome", "data-part": "outcome" }, this.#outcome(approval)),
      el(
        "dl",
        { class: "rows facts" },
        fact("approval.server", bdi(server), " ", el("span", { class: "quiet" }, this.#place(approval))),
        fact(approval.method === "prompts/get" ? "approval.prompt" : approval.method === "resources/read" ? "approval.resource" : "approval.tool", bdi(visible(approval.tool_title || approval.tool)), approval.tool_title && approval.tool_title !== approval.tool ? [" ", el("code", { class: "value", dir: "ltr" }, visible(approval.tool))] : null),
        open ? fact("approval.why", approval.reason ? foreign("span", visible(approval.reason)) : t("approval.why.rule"), approval.rule ? el("span", { class: "from" }, rich("approval.rule", { rule: visible(approval.rule) })) : null) : null
      ),
      open ? changeNode(approval.change, approval.mine ? "change.approval" : "change.approval.other") : null,
      approval.unreadable ? null : this.#sent(approval, args),
      open && approval.description ? el("details", { id: `${this.#headingId}-about` }, el("summary", { id: `${this.#headingId}-about-more` }, rich("approval.about", { server })), foreign("p", visible(approval.description))) : null,
      open ? [this.#answered(approval), this.#decision(approval)] : this.#record(approval)
    );
  }
  #place(approval) {
    if (approval.server_local) return t("approval.local");
    const where = this.store.server(approval.server);
    const domain2 = where?.domain || where?.address;
    return domain2 ? ["(", bdi(domain2), ")"] : null;
  }
  #sent(approval, args) {
    const title = el("h4", { id: `${this.#headingId}-sent` }, rich("approval.sent", { server: approval.server }));
    if (args.size > 0) {
      return el(
        "div",
        { class: "sent", "data-part": "sent" },
        title,
        el("p", { class: "warning" }, t("approval.large", { size: bytes(args.size) })),
        this.#button("show-arguments", t("result.show"), () => void this.#busily(async () => {
          await this.store.loadApproval(approval.id);
        }))
      );
    }
    const row = typeof args.value === "object" && args.value !== null && !Array.isArray(args.value);
    const entries = row && scalar(args.value) === null ? Object.entries(args.value) : [];
    const nothing = args.value === null || args.value === void 0 || row && entries.length === 0;
    return el(
      "div",
      { class: "sent", "data-part": "sent" },
      title,
      nothing ? el("p", { class: "quiet" }, t("call.no-arguments")) : el("dl", { class: "rows" }, entries.slice(0, mostRows).map(([name, value]) => {
        const line2 = scalar(value);
        return el(
          "div",
          null,
          el("dt", null, bdi(visible(name))),
          el("dd", null, line2 === null ? el("pre", { dir: "ltr", tabIndex: 0 }, exactly(value)) : line2 === "" ? el("span", { class: "quiet" }, t("choice.empty")) : foreign("span", visible(line2)))
        );
      })),
      entries.length > mostRows ? el("p", { class: "warning" }, t("approval.more", { n: entries.length - mostRows })) : null,
      nothing ? null : this.#json(args.value)
    );
  }
  #json(value) {
    const pre = el("pre", { dir: "ltr", tabIndex: 0, "data-part": "json" });
    return el(
      "details",
      { id: `${this.#headingId}-json`, on: { toggle: () => {
        if (pre.textContent === "") pre.textContent = exactly(value);
      } } },
      el("summary", { id: `${this.#headingId}-json-more` }, t("approval.json")),
      pre
    );
  }
  #answered(approval) {
    const { answered } = approval;
    if (answered.length === 0) return null;
    return el(
      "div",
      { class: "answered", "data-part": "answered" },
      el("h4", null, t(approval.mine ? "approval.answered" : "approval.answered.other", { n: answered.length })),
      el("ul", null, answered.map((one) => el("li", null, foreign("span", visible(one.message)))))
    );
  }
  // ---- what can be done
  #decision(approval) {
    if (!this.#mayDecide(approval)) {
      return [
        el("p", { class: "note", "data-part": "waits" }, approval.can_decide ? t("card.read-only") : this.#waits(approval)),
        this.#deadline(approval)
      ];
    }
    const offered = reaches.filter((reach) => approval.offer.includes(reach));
    return [
      el(
        "div",
        { class: "actions", role: "group", "aria-label": t("approval.decide") },
        offered.map((reach, i) => this.#button(`allow-${reach}`, t(`approval.allow.${reach}`), () => void this.#decide(true, reach), i === 0 ? "primary" : "")),
        this.#button("deny", t("approval.deny"), () => void this.#decide(false))
      ),
      this.#deadline(approval),
      el("details", { class: "help", id: `${this.#headingId}-help` }, el("summary", { id: `${this.#headingId}-help-more` }, t("help.title")), el(
        "dl",
        { class: "rows" },
        offered.map((reach) => el("div", null, el("dt", null, t(`approval.allow.${reach}`)), el("dd", null, rich(`approval.help.${reach}`, { server: approval.server })))),
        el("div", null, el("dt", null, t("approval.deny")), el("dd", null, rich("approval.help.deny", { server: approval.server })))
      ))
    ];
  }
  #waits(approval) {
    const { assignee } = approval;
    const who = assignee?.group ? rich("approval.waits.group", { group: visible(assignee.group) }) : assignee?.principal ? rich("approval.waits.person", { who: named2(assignee.principal) }) : rich("approval.waits.person", { who: named2(approval.asker) });
    return [el("span", null, who), approval.other_person && approval.mine ? [" ", t("approval.waits.not-you")] : null];
  }
  #deadline(approval) {
    return approval.expires_at ? el("p", { class: "hint" }, t("approval.until", { when: when(approval.expires_at) })) : null;
  }
  #outcome(approval) {
    const { state, decided_by: by } = approval;
    const moment2 = at(approval.closed_at);
    if (state === "expired") return t("approval.expired", { at: moment2 });
    if (state === "withdrawn" || state === "open") return t("approval.withdrawn");
    const me = this.#me;
    const own = by !== null && me !== null && by.subject === me.subject && by.issuer === me.issuer && by.tenant === me.tenant;
    const via = own && approval.via && has(`via.${approval.via}`) ? t(`via.${approval.via}`) : "";
    const what = state === "denied" ? "denied" : `allowed.${approval.scope ?? "once"}`;
    return rich(`approval.${what}${own ? "" : ".by"}`, { who: by ? named2(by) : "", at: moment2, via });
  }
  #record(approval) {
    if (!approval.standing || !approval.mine || !this.store.may("answer")) return null;
    return el(
      "div",
      { class: "actions" },
      this.#button("revoke", t("approval.revoke"), () => void this.#revoke()),
      el("p", { class: "hint" }, t("approval.revoke.hint"))
    );
  }
  #noticeNode() {
    if (!this.#notice) return null;
    const bad = this.#notice.kind === "error";
    return el("p", { class: bad ? "notice bad" : "notice", role: bad ? "alert" : "note", "data-part": "notice" }, this.#notice.text);
  }
  #button(part, label2, press, className = "") {
    return el("button", {
      type: "button",
      id: `${this.#headingId}-${part}`,
      class: className,
      "data-action": part,
      "aria-disabled": this.#presses.ignored(part) ? "true" : null,
      on: { click: () => {
        if (!this.#presses.ignored(part)) press();
      } }
    }, label2);
  }
  // ---- talking to the server
  async #decide(allow, scope) {
    const body = { allow, ...scope ? { scope } : {} };
    const payload = JSON.stringify(body);
    if (this.#attempt.payload !== payload) this.#attempt = { payload, key: randomId(16) };
    await this.#busily(async () => {
      const approval = await this.store.api.write(this.#path, { via: this.via, body, key: this.#attempt.key });
      this.#attempt = { payload: "", key: "" };
      this.store.takeApproval(approval);
      this.dispatchEvent(new CustomEvent("parley-decided", { bubbles: true, composed: true, detail: { id: approval.id, allow } }));
    });
  }
  async #revoke() {
    await this.#busily(async () => {
      this.store.takeApproval(await this.store.api.write(`${this.#path}/revoke`, { via: this.via }));
    });
  }
  async #busily(work) {
    this.#notice = null;
    this.#presses.busy = true;
    try {
      await work();
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#presses.busy = false;
      this.#render();
      this.#focusHeading();
    }
  }
  #failed(error) {
    const code = error instanceof Problem ? error.code : "unreachable";
    this.dispatchEvent(new CustomEvent("parley-error", { bubbles: true, composed: true, detail: { id: this.approvalId, code } }));
    if (error instanceof Problem && error.status === 401) this.dispatchEvent(new CustomEvent("parley-token-expired", { bubbles: true, composed: true }));
    if (code === "approval_closed" || code === "not_decider") {
      this.#notice = { kind: "note", text: code === "not_decider" ? sentence(error) : t("approval.closed-elsewhere") };
      void this.store.loadApproval(this.approvalId).catch(() => void 0);
    } else this.#notice = { kind: "error", text: sentence(error) };
    this.#render();
  }
};
function fact(key, ...value) {
  return el("div", null, el("dt", null, t(key)), el("dd", null, value));
}
function named2(principal) {
  return visible(principal.subject);
}

// src/lib/draft.ts
var prefix = "parley.draft.";
function wanted(card) {
  for (let at2 = card; at2; ) {
    if (at2.hasAttribute("no-drafts")) return false;
    const root = at2.getRootNode();
    at2 = root instanceof ShadowRoot ? root.host : null;
  }
  return true;
}
function loadDraft(card, id) {
  if (!wanted(card)) {
    dropDraft(id);
    return null;
  }
  try {
    const text2 = sessionStorage.getItem(prefix + id);
    return text2 === null ? null : JSON.parse(text2);
  } catch {
    return null;
  }
}
function saveDraft(card, id, input) {
  if (!wanted(card)) return dropDraft(id);
  try {
    sessionStorage.setItem(prefix + id, JSON.stringify(input));
  } catch {
  }
}
function dropDraft(id) {
  try {
    sessionStorage.removeItem(prefix + id);
  } catch {
  }
}

// src/card/later.ts
function remembered(id) {
  try {
    return sessionStorage.getItem(`parley.later.${id}`) !== null;
  } catch {
    return false;
  }
}
function remember(id, later) {
  try {
    if (later) sessionStorage.setItem(`parley.later.${id}`, "1");
    else sessionStorage.removeItem(`parley.later.${id}`);
  } catch {
  }
}

// src/card/question.css
var question_default = "/* A question is not part of anybody's bubble: it has a frame of its own. */\n.card {\n	display: grid; gap: 1rem; padding: 1.125rem 1.25rem 1.25rem; background: var(--_ask-tint);\n	border: 1px solid var(--_line); border-inline-start: 5px solid var(--_ask); border-radius: var(--_radius);\n	scroll-margin-block: 1rem;\n}\n.card > header { display: grid; gap: .125rem }\n.card .eyebrow { color: var(--_ask) }\n.card.record { background: var(--_paper); border-inline-start-color: var(--_line); gap: .75rem; padding-block: .875rem 1rem }\n.card.record .eyebrow { color: var(--_quiet) }\n.card.record h3 { font-size: 1rem }\n.card.record .message { color: var(--_quiet) }\nform { display: grid; gap: 1.25rem }\n.other { border-block-start: 1px solid var(--_line); padding-block-start: 1rem }\n.other button { background: transparent }\n.other button:hover { background: var(--_paper) }\n.help { font-size: .9375rem; color: var(--_quiet) }\n.review { display: grid; gap: 1rem; padding: 1rem; border: 1px solid var(--_line); border-radius: 8px; background: var(--_paper) }\n.review dd, .outcome dd { font-weight: 550 }\n.review dd .from, .outcome dd .from { font-weight: 400 }\n.outcome { display: grid; gap: .625rem }\n\n.site { font-size: 1.0625rem }\n.domain { font-weight: 700; text-decoration: underline; text-decoration-thickness: 2px; text-underline-offset: .18em }\n.url {\n	display: block; unicode-bidi: isolate; overflow-wrap: anywhere; user-select: text; padding: .625rem .75rem;\n	border: 1px solid var(--_line); border-radius: 6px; background: var(--_paper); font-size: .9375rem;\n}\n.findings { list-style: none; display: grid; gap: .5rem }\n.findings li { padding: .5rem .75rem; border: 1px solid var(--_line); border-inline-start: 4px solid var(--_edge); border-radius: 6px; background: var(--_paper) }\n.findings li.warn { border-inline-start-color: var(--_ask) }\n.findings li.refuse { border-inline-start-color: var(--_bad); background: var(--_bad-tint) }\n.second { display: grid; gap: .5rem; padding: .875rem 1rem; border: 2px solid var(--_ask); border-radius: 8px; background: var(--_paper) }\n@media (max-width: 30rem) {\n	.card { padding-inline: .875rem }\n	.actions > button { flex: 1 1 auto }\n}\n@media (forced-colors: active) {\n	.card { border-inline-start-color: CanvasText }\n}\n";

// src/card/question.ts
var ParleyQuestion = class extends StoreElement {
  static observedAttributes = ["question-id"];
  #root;
  #via = "chat";
  #leave = null;
  #unwatch = () => void 0;
  #watched = "";
  #phase = "form";
  #later = false;
  #form = null;
  #draft = null;
  #check = null;
  #checked = null;
  #notice = null;
  #shape = "";
  #asked = "";
  #closed = false;
  #attempt = { payload: "", key: "" };
  #digest = null;
  #opened = false;
  #headingId = uid("question");
  #presses;
  constructor() {
    super();
    this.#root = shadow(this, base_default, form_default, question_default);
    this.#presses = new Presses(
      this.#root,
      (part) => part === "send" || part === "open" || part === "finished",
      (part) => part === "open" && this.#digest?.href !== this.#question?.url?.href
    );
  }
  get questionId() {
    return this.getAttribute("question-id") ?? "";
  }
  /** The surface that answers come from. */
  get via() {
    return this.#via;
  }
  set via(via) {
    this.#via = via;
  }
  connectedCallback() {
    this.takeEarlyProperties();
    const store = this.store;
    this.#draft = loadDraft(this, this.questionId);
    this.#later = remembered(this.questionId);
    this.#leave = this.subscribe((change) => {
      if (change.kind === "question" && change.id === this.questionId || change.kind === "call" && change.id === this.#question?.call || change.kind === "snapshot" || change.kind === "session") this.#render();
    });
    store.start();
    if (!this.#question && this.questionId) void store.loadQuestion(this.questionId).catch((error) => this.#failed(error));
    this.#render();
  }
  disconnectedCallback() {
    this.#leave?.();
    this.#leave = null;
    this.#unwatch();
    this.#watched = "";
    this.#presses.drawn("");
  }
  attributeChangedCallback() {
    if (!this.isConnected) return;
    this.disconnectedCallback();
    this.#phase = "form";
    this.#dropForm();
    this.#notice = null;
    this.#asked = "";
    this.#closed = false;
    this.#shape = "";
    this.connectedCallback();
  }
  get #question() {
    return this.store.question(this.questionId);
  }
  get #canTakeBack() {
    const question = this.#question;
    if (!question?.can_take_back || !this.#mayAnswer) return false;
    const call = this.store.call(question.call);
    return !call || call.state !== "claimed" && mayTakeBack(question, call);
  }
  // The person is on the site, and a server that holds its call waits for that.
  get #siteWaits() {
    const question = this.#question;
    const call = question && this.store.call(question.call);
    return question?.mode === "url" && question.state === "accepted" && call?.state === "sent" && canOpen(question);
  }
  #render() {
    const question = this.#question;
    if (!question) {
      if (this.#shape === "") fill(this.#root, this.#notice ? el("section", { class: "card" }, this.#noticeNode()) : null);
      return;
    }
    if (this.#closed && isOpen(question)) this.#notice = null;
    this.#closed = !isOpen(question);
    const asked = JSON.stringify([question.message, question.view, question.url]);
    if (this.#asked !== "" && this.#asked !== asked && isOpen(question)) {
      this.#phase = "form";
      this.#dropForm();
      this.#notice = { kind: "note", text: t("card.changed", { server: question.server }) };
    }
    this.#asked = asked;
    if (!isOpen(question)) {
      if (this.#form && this.#draft && !this.#presses.busy) this.#notice = { kind: "note", text: t("card.closed-elsewhere") };
      this.#draft = null;
      dropDraft(question.id);
      this.#phase = "form";
      this.#dropForm();
    }
    this.#watch(question, asked);
    this.#presses.drawn(isOpen(question) && this.#mayAnswer && !this.#later ? `${this.#phase} ${question.state} ${asked}` : "");
    const shape = JSON.stringify([{ ...question, version: 0, seq: 0 }, this.#mayAnswer, this.#phase, this.#later, this.#notice, this.#siteWaits, this.#canTakeBack, this.#check, this.#opened]);
    if (shape === this.#shape) return;
    this.#shape = shape;
    const had = focused(this.#root) !== null;
    const kept = keepFocus(this.#root, () => fill(this.#root, this.#card(question)));
    if (had && !kept) this.#focusHeading();
  }
  // It is recorded that the card was in sight: once, and anew when the server asks in other words.
  #watch(question, asked) {
    if (!isOpen(question)) return this.#unwatch();
    if (this.#later || this.#watched === asked) return;
    this.#unwatch();
    this.#watched = asked;
    this.#unwatch = whenShown(this, (evidence) => void this.store.api.write(`${this.#path}/shown`, { via: this.via, body: { evidence }, keepalive: true }).catch(() => void 0));
  }
  get #mayAnswer() {
    return this.store.may("answer");
  }
  #focusHeading() {
    this.#root.getElementById(this.#headingId)?.focus();
  }
  #card(question) {
    const open = isOpen(question);
    const kind = open ? "open" : "record";
    return el(
      "section",
      { class: `card ${kind} asks-${question.mode}`, "aria-labelledby": `${this.#headingId} ${this.#headingId}-brief`, "data-question": question.id, "data-state": question.state },
      el(
        "header",
        null,
        el("p", { class: "eyebrow" }, t(question.mode === "url" ? "card.kind.url" : "card.kind.form"), count(question) ? [" · ", count(question)] : null),
        heading(question, this.#headingId),
        // Two cards of one server need two names.
        el("span", { hidden: true, id: `${this.#headingId}-brief`, "aria-label": brief(question) })
      ),
      open && this.#later ? this.#folded() : [
        message(question),
        question.note ? el("p", { class: "note", "data-part": "note" }, foreign("span", question.note)) : null,
        this.#noticeNode(),
        open ? this.#body(question) : this.#record(question)
      ]
    );
  }
  #body(question) {
    if (!this.#mayAnswer) return [question.mode === "url" ? address(question) : null, el("p", { class: "note", "data-part": "read-only" }, t("card.read-only")), deadline(question)];
    if (question.unreadable) return [stopNotice(question.refused || t("form.no-view")), deadline(question)];
    return question.mode === "url" ? this.#urlBody(question) : this.#formBody(question);
  }
  #noticeNode() {
    if (!this.#notice) return null;
    const bad = this.#notice.kind === "error";
    return el("p", { class: bad ? "notice bad" : "notice", role: bad ? "alert" : "note", "data-part": "notice" }, this.#notice.text);
  }
  #folded() {
    return el(
      "div",
      { class: "actions" },
      el("p", { class: "quiet" }, t("card.folded")),
      this.#button("unfold", t("action.unfold"), () => this.#setLater(false))
    );
  }
  // With its errors, of which the page's title tells.
  #dropForm() {
    this.#form?.clear();
    this.#form = null;
  }
  #setLater(later) {
    if (later) this.#form?.clear();
    this.#later = later;
    remember(this.questionId, later);
    this.#render();
    this.#focusHeading();
  }
  #button(part, label2, press, className = "") {
    return el("button", {
      type: "button",
      id: `${this.#headingId}-${part}`,
      class: className,
      "data-action": part,
      "aria-disabled": this.#presses.ignored(part) ? "true" : null,
      on: { click: () => {
        if (!this.#presses.ignored(part)) press();
      } }
    }, label2);
  }
  #otherActions(question) {
    return [
      el(
        "div",
        { class: "actions other" },
        this.#button("decline", t("action.decline"), () => void this.#answer("decline")),
        this.#button("cancel", t("action.cancel"), () => void this.#answer("cancel")),
        this.#button("later", t("action.later"), () => this.#setLater(true))
      ),
      deadline(question),
      actionsHelp(question)
    ];
  }
  // ---- form mode
  #formBody(question) {
    if (question.refused || !question.view) {
      return [stopNotice(question.refused || t("form.no-view")), this.#otherActions(question)];
    }
    if (this.#phase === "review" && this.#check) return [this.#review(question, this.#check), this.#otherActions(question)];
    this.#form ??= new Form({
      view: question.view,
      server: question.server,
      suggested: question.suggested ?? null,
      draft: this.#draft,
      changed: (input) => {
        this.#draft = input;
        saveDraft(this, question.id, input);
      }
    });
    const form = this.#form;
    const fields = question.view.fields?.length ?? 0;
    const direct = fields <= 1 && !form.prefilled;
    const part = direct ? "send" : "review";
    const label2 = fields === 0 ? rich("action.accept", { server: question.server }) : direct ? rich("action.send", { server: question.server }) : t("action.review");
    return [
      el(
        "form",
        {
          noValidate: true,
          autocomplete: "off",
          on: {
            submit: (event) => {
              event.preventDefault();
              if (!this.#presses.ignored(part)) void (direct ? this.#answer("accept", form.input()) : this.#toReview(form));
            },
            keydown: (event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
            }
          }
        },
        form.node,
        form.stopped ? stopNotice(form.stopped) : el(
          "div",
          { class: "actions" },
          el("button", { type: "submit", id: `${this.#headingId}-send`, class: "primary", "data-action": part, "aria-disabled": this.#presses.ignored(part) ? "true" : null }, label2)
        )
      ),
      this.#otherActions(question)
    ];
  }
  async #toReview(form) {
    const own = form.ownErrors();
    if (own.length > 0) return form.fail(own);
    const input = form.input();
    await this.#busily(async () => {
      this.#check = await this.store.api.write(`${this.#path}/check`, { via: this.via, body: { input } });
      this.#checked = input;
      form.clear();
      this.#phase = "review";
    });
    if (this.#phase === "review") this.#root.getElementById(`${this.#headingId}-review`)?.focus();
  }
  #review(question, check) {
    const { server } = question;
    const omitted = check.omitted ?? [];
    return el(
      "div",
      { class: "review", "data-part": "review" },
      el("h4", { tabIndex: -1, id: `${this.#headingId}-review` }, rich("review.title", { server })),
      check.review?.length ? rows(check.review, server) : el("p", null, rich("review.nothing", { server })),
      omitted.length > 0 ? el("p", { class: "hint" }, t("review.omitted", { list: omitted.map((one) => one.label || one.name).join(", ") })) : null,
      el(
        "div",
        { class: "actions" },
        this.#button("send", rich("action.send", { server }), () => void this.#answer("accept", this.#checked ?? {}), "primary"),
        this.#button("change", t("action.change"), () => {
          this.#phase = "form";
          this.#notice = null;
          this.#render();
          this.#form?.controls[0]?.target().focus();
        })
      )
    );
  }
  // ---- url mode
  #urlBody(question) {
    const link = question.url;
    const openable = canOpen(question);
    if (openable && !window.isSecureContext) return [address(question), el("p", { class: "warning", "data-part": "stopped" }, t("link.insecure")), this.#otherActions(question)];
    if (!link || !openable) return [address(question), el("p", { "data-part": "stopped" }, t("link.never")), this.#otherActions(question)];
    if (this.#digest?.href !== link.href) {
      const href = link.href ?? "";
      this.#digest = null;
      void sha256(href).then((hex) => {
        if (this.#question?.url?.href !== href) return;
        this.#digest = { href, hex };
        this.#presses.dim();
      });
    }
    const site = siteName(link);
    const open = this.#phase === "second-look" || !needsSecondLook(question) ? this.#button("open", rich(this.#phase === "second-look" ? "link.open-anyway" : "link.open", { site }), () => this.#open(question), "primary") : this.#button("open", rich("link.open", { site }), () => {
      this.#phase = "second-look";
      this.#render();
      this.#root.getElementById(`${this.#headingId}-second`)?.focus();
    });
    const opened = question.state === "opened";
    const copy = this.#button("copy", t("link.copy"), () => void this.#copy(link.href ?? ""));
    if (opened && this.#phase !== "second-look") {
      open.classList.remove("primary");
      open.replaceChildren(document.createTextNode(t("link.again")));
      return [
        address(question),
        question.held && question.completed_at ? completed(question) : el("p", { class: "note" }, rich("link.opened", { server: question.server, site })),
        el(
          "div",
          { class: "actions" },
          this.#button("finished", t("link.finished"), () => void this.#answer("accept"), "primary"),
          open,
          copy
        ),
        el("p", { class: "hint" }, t("link.nothing-opened")),
        this.#otherActions(question)
      ];
    }
    return [
      address(question),
      this.#phase === "second-look" ? el(
        "div",
        { class: "second", "data-part": "second-look" },
        el("h4", { tabIndex: -1, id: `${this.#headingId}-second` }, t("link.sure")),
        el("p", null, rich("link.sure.text", { server: question.server, site }))
      ) : null,
      el(
        "div",
        { class: "actions" },
        open,
        copy,
        this.#phase === "second-look" ? this.#button("back", t("link.back"), () => {
          this.#phase = "form";
          this.#render();
          this.#focusHeading();
        }) : null
      ),
      question.held && question.completed_at ? completed(question) : null,
      el("p", { class: "hint" }, question.held ? [rich("link.held", { server: question.server }), " "] : null, t("link.forward")),
      this.#opened ? el("p", { class: "hint" }, t("link.nothing-opened")) : null,
      this.#otherActions(question)
    ];
  }
  #open(question) {
    const href = question.url?.href;
    const digest = this.#digest;
    if (!href || digest?.href !== href) return;
    window.open(href, "_blank", "noopener,noreferrer");
    this.#opened = true;
    this.#phase = "form";
    void this.#busily(async () => {
      this.store.takeQuestion(await this.store.api.write(`${this.#path}/open`, { via: this.via, body: { url_sha256: digest.hex }, keepalive: true }));
      if (question.held) await this.#deliver("accept", void 0);
    }).then(() => {
      if (!isOpen(this.#question ?? question)) this.#focusHeading();
    });
  }
  async #copy(href) {
    try {
      await navigator.clipboard.writeText(href);
      announce(t("link.copied"));
      this.#notice = { kind: "note", text: t("link.copied") };
    } catch {
      const node = this.#root.querySelector('[data-part="address"]');
      if (node) window.getSelection()?.selectAllChildren(node);
      this.#notice = { kind: "note", text: t("link.copy-failed") };
    }
    this.#render();
  }
  // ---- the record
  #record(question) {
    const review = question.answer?.review ?? [];
    const waits = this.#siteWaits;
    return [
      question.mode === "url" && question.url ? address(question) : null,
      el("div", { class: "outcome", "data-part": "outcome" }, el("p", null, outcome(question)), review.length > 0 ? rows(review, question.server) : null),
      question.completed_at && question.closed_by !== "server" ? completed(question) : waits ? [
        el("p", { class: "hint" }, rich("link.held.waits", { server: question.server }), " ", t("link.nothing-opened")),
        el("div", { class: "actions" }, this.#button("copy", t("link.copy"), () => void this.#copy(question.url?.href ?? "")))
      ] : null,
      this.#canTakeBack ? el(
        "div",
        { class: "actions" },
        this.#button("take-back", t("action.take-back"), () => void this.#takeBack()),
        el("p", { class: "hint" }, rich("card.take-back", { server: question.server }))
      ) : null
    ];
  }
  async #takeBack() {
    await this.#busily(async () => {
      this.store.takeQuestion(await this.store.api.write(`${this.#path}/take-back`, { via: this.via }));
    });
    this.#focusHeading();
  }
  // ---- talking to the server
  get #path() {
    return `/v1/questions/${encodeURIComponent(this.questionId)}`;
  }
  async #answer(action, input) {
    const own = action === "accept" && input ? this.#form?.ownErrors() ?? [] : [];
    if (own.length > 0) return this.#form?.fail(own);
    await this.#busily(() => this.#deliver(action, input));
    if (this.#question && !isOpen(this.#question)) this.#focusHeading();
  }
  async #deliver(action, input) {
    const body = { action, ...input ? { input } : {} };
    const payload = JSON.stringify(body);
    if (this.#attempt.payload !== payload) this.#attempt = { payload, key: randomId(16) };
    const question = await this.store.api.write(`${this.#path}/answer`, { via: this.via, body, key: this.#attempt.key });
    this.#attempt = { payload: "", key: "" };
    this.#draft = null;
    dropDraft(question.id);
    this.store.takeQuestion(question);
    this.dispatchEvent(new CustomEvent("parley-answered", { bubbles: true, composed: true, detail: { id: question.id, action } }));
  }
  async #busily(work) {
    this.#notice = null;
    this.#render();
    this.#presses.busy = true;
    let errors = [];
    try {
      await work();
    } catch (error) {
      errors = this.#failed(error);
    } finally {
      this.#presses.busy = false;
      this.#render();
      if (errors.length > 0) this.#form?.fail(errors);
    }
  }
  #failed(error) {
    this.dispatchEvent(new CustomEvent("parley-error", { bubbles: true, composed: true, detail: { id: this.questionId, code: error instanceof Problem ? error.code : "unreachable" } }));
    if (error instanceof Problem && error.status === 422 && error.errors.length > 0 && this.#form) {
      this.#phase = "form";
      return error.errors;
    }
    if (error instanceof Problem && error.code === "question_closed") {
      this.#notice = { kind: "note", text: t("card.closed-elsewhere") };
      dropDraft(this.questionId);
      if (error.question) this.store.takeQuestion(error.question);
      else void this.store.loadQuestion(this.questionId).catch(() => void 0);
      return [];
    }
    if (error instanceof Problem && (error.code === "url_changed" || error.code === "too_late")) {
      this.#phase = "form";
      void this.store.loadQuestion(this.questionId).catch(() => void 0);
    }
    if (error instanceof Problem && error.status === 401) {
      this.dispatchEvent(new CustomEvent("parley-token-expired", { bubbles: true, composed: true }));
    }
    this.#notice = { kind: "error", text: sentence(error) };
    this.#render();
    return [];
  }
};

// src/elements.ts
var elements = {
  "parley-question": ParleyQuestion,
  "parley-approval": ParleyApproval,
  "parley-chat": ParleyChat,
  "parley-inbox": ParleyInbox
};
for (const [name, constructor] of Object.entries(elements)) {
  if (!customElements.get(name)) customElements.define(name, constructor);
}
prepareAnnouncer();
export {
  ParleyApproval,
  ParleyChat,
  ParleyInbox,
  ParleyQuestion
};
