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
var ids = 0;
function uid(prefix) {
  return `${prefix}-${++ids}`;
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
  constructor(base, token2, heard = () => void 0) {
    this.base = base.replace(/\/+$/, "");
    this.#token = token2;
    this.#heard = heard;
  }
  /**
   * request sends one request and hands back the response, whatever its status. A
   * cookie goes along on the Parley's own pages alone: pages of other origins have
   * nothing but the token that they were given.
   */
  async request(method, path, init = {}) {
    const headers = new Headers(init.headers);
    const token2 = await this.#token();
    if (token2) headers.set("Authorization", `Bearer ${token2}`);
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
function siteName(link) {
  if (link.verdict === "warn") return link.domain || link.host || "";
  return link.domain_unicode || link.domain || link.host_unicode || link.host || "";
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
var base_default = '/* What all roots share: tokens, text, buttons, inputs. Integrators set --parley-*. */\n:host {\n	--_ink: var(--parley-ink, light-dark(#1b2026, #e7e9ec));\n	--_quiet: var(--parley-quiet, light-dark(#56606b, #a3acb5));\n	--_paper: var(--parley-paper, light-dark(#ffffff, #1b1f24));\n	--_ground: var(--parley-ground, light-dark(#f6f6f3, #121518));\n	--_line: var(--parley-line, light-dark(#d9dbde, #373e46));\n	--_edge: var(--parley-edge, light-dark(#7b858f, #7f8a95));\n	--_accent: var(--parley-accent, light-dark(#0a5f73, #6fc7da));\n	--_on-accent: var(--parley-on-accent, light-dark(#ffffff, #06222a));\n	--_tint: var(--parley-tint, light-dark(#e8f1f3, #1d2c31));\n	--_ask: var(--parley-ask, light-dark(#8a5a00, #e5b656));\n	--_ask-tint: var(--parley-ask-tint, light-dark(#fdf8ec, #221e15));\n	--_bad: var(--parley-bad, light-dark(#b0231b, #ff948a));\n	--_bad-tint: var(--parley-bad-tint, light-dark(#fdf1f0, #2b1a19));\n	--_good: var(--parley-good, light-dark(#1b6e3c, #7ad3a0));\n	--_radius: var(--parley-radius, 10px);\n	--_mono: ui-monospace, "SFMono-Regular", Menlo, Consolas, "Liberation Mono", monospace;\n	display: block;\n	color: var(--_ink);\n	font-family: var(--parley-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif);\n	font-size: 1rem;\n	line-height: 1.5;\n}\n:host([hidden]), [hidden] { display: none !important }\n*, ::before, ::after { box-sizing: border-box }\nh1, h2, h3, h4, p, ul, dl, dd, fieldset, pre, figure { margin: 0; padding: 0; border: 0 }\nfieldset { min-inline-size: 0 }\nh1 { font-size: 1.5rem; line-height: 1.25; font-weight: 650; letter-spacing: -.01em }\nh2 { font-size: 1.0625rem; line-height: 1.35; font-weight: 600 }\nh3 { font-size: 1.125rem; line-height: 1.35; font-weight: 650 }\nh4 { font-size: 1rem; line-height: 1.4; font-weight: 650 }\np, li, dt, dd, label, legend, code, pre, summary, h1, h2, h3, h4, button, .foreign { overflow-wrap: anywhere }\n.foreign { white-space: pre-wrap; unicode-bidi: isolate }\n.quiet, .hint, .time { color: var(--_quiet) }\n.hint, .time { font-size: .9375rem }\n/* A status that says nothing takes no room, and stays where screen readers found it. */\n[role="status"]:empty { position: absolute }\n.eyebrow { font-size: .8125rem; font-weight: 600; letter-spacing: .02em; color: var(--_quiet) }\n.away {\n	position: absolute; inline-size: 1px; block-size: 1px; margin: -1px; overflow: hidden;\n	clip-path: inset(50%); white-space: nowrap;\n}\na { color: var(--_accent); text-underline-offset: .15em }\ncode, pre, .code { font-family: var(--_mono); font-size: .875em }\ncode.value { color: var(--_quiet) }\npre {\n	white-space: pre-wrap; padding: .75rem; border: 1px solid var(--_line); border-radius: 6px;\n	background: var(--_ground); max-block-size: 24rem; overflow: auto;\n}\n\nbutton, a.button {\n	font: inherit; font-weight: 550; color: var(--_ink); background: var(--_paper); text-decoration: none; text-align: center;\n	border: 1px solid var(--_edge); border-radius: 7px; padding: .4375rem .875rem; min-block-size: 2.5rem; cursor: pointer;\n}\nbutton:hover, a.button:hover { border-color: var(--_ink); background: var(--_ground) }\nbutton.primary { color: var(--_on-accent); background: var(--_accent); border-color: var(--_accent) }\nbutton.primary:hover { background: color-mix(in oklab, var(--_accent) 86%, var(--_ink)) }\nbutton[aria-disabled="true"] { opacity: .65; cursor: progress }\nbutton.link {\n	font-weight: inherit; color: var(--_accent); background: none; border: 0; padding: 0; min-block-size: 1.5rem;\n	text-decoration: underline; text-underline-offset: .15em; text-align: start;\n}\n:focus-visible { outline: 3px solid var(--_accent); outline-offset: 2px; border-radius: 4px }\n[tabindex="-1"]:focus-visible { outline-offset: 4px }\n.actions { display: flex; flex-wrap: wrap; gap: .625rem; align-items: center }\n\ninput[type="text"], input[type="search"], textarea, select {\n	font: inherit; color: var(--_ink); background: var(--_paper); border: 1px solid var(--_edge); border-radius: 6px;\n	padding: .4375rem .625rem; inline-size: 100%; min-block-size: 2.5rem;\n}\ntextarea { resize: vertical; display: block }\ntextarea.code { font-family: var(--_mono); font-size: .875rem }\ninput[type="radio"], input[type="checkbox"] { inline-size: 1.25rem; block-size: 1.25rem; margin: 0; accent-color: var(--_accent); flex: none }\n\n.notice, .warning, .note {\n	padding: .625rem .875rem; border-radius: 6px; border: 1px solid var(--_line); border-inline-start: 4px solid var(--_edge); background: var(--_paper);\n}\n.change { display: grid; gap: .75rem }\n.change > div { display: grid; gap: .25rem }\n.notice button { margin-block-start: .5rem }\n.notice.bad, .warning { border-inline-start-color: var(--_bad); background: var(--_bad-tint) }\n.rows { display: grid; gap: .5rem }\n.rows > div { display: grid; grid-template-columns: minmax(6rem, 12rem) 1fr; gap: .125rem 1rem }\n.rows dt { color: var(--_quiet) }\n.rows .from { display: block; font-size: .875rem; color: var(--_quiet); font-style: italic }\n@media (max-width: 30rem) {\n	.rows > div { grid-template-columns: 1fr }\n}\ndetails > summary { cursor: pointer; min-block-size: 1.5rem; inline-size: fit-content }\ndetails[open] > summary { margin-block-end: .5rem }\n@media (forced-colors: active) {\n	button.primary { forced-color-adjust: none; color: HighlightText; background: Highlight; border-color: Highlight }\n	.notice, .warning, .note { border-inline-start-color: CanvasText }\n}\n';

// src/page/app.css
var app_default = ':host { min-block-size: 100dvh; background: var(--_ground); display: flex; flex-direction: column }\nheader { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; padding: .625rem 1.25rem; background: var(--_paper); border-block-end: 1px solid var(--_line) }\n.skip { position: absolute; inset-block-start: -4rem; inset-inline-start: .5rem; z-index: 2 }\n.skip:focus { inset-block-start: .375rem }\n.brand { display: flex; align-items: center; gap: .5rem; font-weight: 700; font-size: 1.125rem; letter-spacing: -.01em; color: inherit; text-decoration: none; min-block-size: 1.5rem }\n.logo { inline-size: 1.25rem; block-size: 1.25rem; border-radius: 50% 50% 50% 3px; background: var(--_accent); position: relative }\n.logo::after { content: ""; position: absolute; inset: .375rem; border-radius: 50%; background: var(--_paper) }\n.space { flex: 1 }\n.who { font-size: .875rem; overflow-wrap: anywhere; max-inline-size: 24rem }\nheader form { display: contents }\nheader form button { font-size: .875rem }\n.waiting { font-size: .9375rem; padding: .25rem .625rem; border-radius: 999px; border: 1px solid transparent; color: var(--_quiet); text-decoration: none; min-block-size: 1.5rem }\n.waiting.some { color: var(--_ask); border-color: currentColor; font-weight: 600; background: var(--_ask-tint) }\n.waiting:hover, .waiting[aria-current] { text-decoration: underline; text-underline-offset: .2em }\n.menu { display: none; min-block-size: 2.25rem; padding-block: .25rem }\n.banner { padding: .5rem 1.25rem; text-align: center; font-weight: 600; color: var(--_bad); background: var(--_bad-tint); border-block-end: 1px solid var(--_line); position: sticky; inset-block-start: 0; z-index: 1 }\n.columns { flex: 1; display: grid; grid-template-columns: 17rem minmax(0, 1fr) }\n\n.columns.alone { display: block }\naside { padding: 1.25rem; border-inline-end: 1px solid var(--_line); display: grid; gap: 1.5rem; align-content: start }\naside h2 { font-size: .8125rem; letter-spacing: .02em; color: var(--_quiet); margin-block-end: .5rem }\naside ul { list-style: none; display: grid; gap: .25rem }\naside nav a { display: grid; padding-block: .4375rem; padding-inline: .4375rem .625rem; border-inline-start: 3px solid transparent; margin-inline: -.625rem; border-radius: 0; border-start-end-radius: 7px; border-end-end-radius: 7px; color: inherit; text-decoration: none; font-size: .9375rem }\naside nav a:hover { background: var(--_paper) }\naside nav a[aria-current] { background: var(--_paper); border-inline-start-color: var(--_accent) }\naside nav .title { font-weight: 550; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden }\naside nav .quiet { font-size: .875rem }\naside nav strong { color: var(--_ask) }\naside .servers { gap: .875rem; font-size: .9375rem }\n.status { color: var(--_quiet); font-size: .875rem }\n.status::before { content: "● "; font-size: .625rem; vertical-align: .1em }\n.status.connected::before { color: var(--_good) }\n.status.failed::before { content: "■ "; color: var(--_bad) }\n.status.idle::before, .status.sign_in::before { content: "○ " }\n.address { font-size: .875rem }\n.bad-text { color: var(--_bad); font-size: .875rem }\naside details { font-size: .875rem; color: var(--_quiet) }\naside .rows > div { grid-template-columns: 1fr }\n@media (min-width: 54.01rem) and (min-height: 30rem) {\n	/* What leads elsewhere stays in sight; static/page.css keeps this room when something is scrolled to. */\n	header { position: sticky; inset-block-start: 0; z-index: 2; min-block-size: 3.5rem }\n	.banner { inset-block-start: 3.5rem }\n	aside { position: sticky; inset-block-start: 3.5rem; align-self: start; min-block-size: calc(100dvh - 3.5rem); max-block-size: calc(100dvh - 3.5rem); overflow-y: auto }\n}\nmain { inline-size: 100%; max-inline-size: 50rem; margin-inline: auto; padding: 1.75rem 1.5rem 4rem }\nmain:focus-visible { outline: none }\naside .notify { margin-block-start: .75rem; display: grid; gap: .25rem; font-size: .875rem }\n.check { display: flex; align-items: center; gap: .5rem; min-block-size: 1.5rem }\n.listing { display: grid; gap: 1rem }\n.entries { list-style: none; display: grid; gap: .75rem; margin: 0; padding: 0 }\n.entries li { display: grid; gap: .375rem; padding: .875rem 1rem; background: var(--_paper); border: 1px solid var(--_line); border-radius: var(--_radius) }\n.entries.trail { gap: 0 }\n.entries.trail li { padding: .625rem .25rem; background: none; border: 0; border-block-end: 1px solid var(--_line); border-radius: 0; gap: 0 }\n.signed-out { display: grid; gap: 1rem; max-inline-size: 36rem; padding-block: 2rem }\n@media (max-width: 54rem) {\n	.columns { display: block }\n	.menu { display: block }\n	aside { display: none; border-inline-end: 0; border-block-end: 1px solid var(--_line); background: var(--_paper) }\n	aside.open { display: grid }\n}\n@media (max-width: 30rem) {\n	header { padding-inline: .875rem; gap: .5rem }\n	/* The name takes what the line has left, and breaks, before the menu goes below. */\n	.space { display: none }\n	.who { flex: 1 1 0; min-inline-size: 4.5rem; text-align: end }\n	main { padding: 1.25rem .875rem 3rem }\n	.waiting { order: 1; flex: 1 0 100%; text-align: center }\n	.waiting:not(.some) { padding: 0; text-align: start }\n}\n@media (forced-colors: active) {\n	.logo { forced-color-adjust: none; background: CanvasText }\n	.waiting.some { border-color: LinkText }\n	aside nav a[aria-current] { outline: 2px solid Highlight }\n}\n';

// src/page/signedin.ts
var ParleySignedIn = class extends HTMLElement {
  #root = shadow(this, base_default, app_default);
  #main = el("main", { id: "main", tabIndex: -1, "aria-live": "polite" });
  #api = new API("", token);
  #lost = false;
  // an answer was lost: what was asked for may still be under way
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
    try {
      this.#result(await this.#api.write(path, { via: "chat", body }));
    } catch (error) {
      this.#failed(error, () => void this.#ask(path, body));
    }
  }
  // What time will mend is tried again, and what has failed is begun anew.
  #failed(error, again) {
    const problem = error instanceof Problem ? error : null;
    const out = problem?.status === 401;
    const cut = error instanceof Unreachable || problem !== null && (problem.code === "timeout" || problem.code === "" && problem.status >= 500);
    this.#lost ||= cut;
    const passes = out || cut || problem?.code === "unavailable" || problem?.code === "sign_in_over" && this.#lost;
    const server = problem?.code === "sign_in_failed" ? problem.params["server"] : null;
    this.#show(
      "bad",
      out ? t("server-sign-in.out") : sentence(error),
      passes ? el("button", { type: "button", "data-action": "again", on: { click: again } }, t("server-sign-in.again")) : null,
      typeof server === "string" && server !== "" ? new SignInCard({ api: this.#api }, server, "chat").node : null
    );
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
