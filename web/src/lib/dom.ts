// The one way this code makes elements: DOM properties and text nodes, never
// HTML strings, so that a page under `trusted-types 'none'` runs it and no
// server's text can become markup.

export type Child = Node | string | number | null | undefined | false | readonly Child[]

type Handlers = { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void }

/** Properties of an element. Names with a dash, and `role` and `for`, are attributes; the rest are DOM properties. */
export type Props = {
	class?: string
	id?: string | undefined
	role?: string
	on?: Handlers
	[name: string]: unknown
}

const attributeNames = new Set(['role', 'for', 'part', 'list'])

/** el makes an element with properties and children. Null, undefined and false children are left out. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, props?: Props | null, ...children: Child[]): HTMLElementTagNameMap[K] {
	const node = document.createElement(tag)
	for (const [name, value] of Object.entries(props ?? {})) {
		if (value === undefined || value === null || value === false && attributeNames.has(name)) continue
		if (name === 'class') node.className = String(value)
		else if (name === 'on') listen(node, value as Handlers)
		else if (name.includes('-') || attributeNames.has(name)) node.setAttribute(name, String(value))
		else (node as unknown as Record<string, unknown>)[name] = value
	}
	append(node, children)
	return node
}

function listen(node: HTMLElement, handlers: Handlers): void {
	for (const [type, handler] of Object.entries(handlers)) {
		if (handler) node.addEventListener(type, handler as EventListener)
	}
}

/** append adds children to a node, flattening lists. */
export function append(node: Node, children: Child): void {
	if (children === null || children === undefined || children === false) return
	if (typeof children === 'string' || typeof children === 'number') node.appendChild(document.createTextNode(String(children)))
	else if (children instanceof Node) node.appendChild(children)
	else for (const child of children) append(node, child)
}

/** fill replaces everything inside a node. */
export function fill(node: Element | ShadowRoot, ...children: Child[]): void {
	node.replaceChildren()
	append(node, children)
}

/** bdi holds a server's words, so that their direction does not turn ours around. */
export function bdi(text: string): HTMLElement {
	return el('bdi', null, text)
}

/**
 * foreign is a block of a server's words: plain text, its own direction, line breaks kept, long words broken.
 * Addresses in it are no links (MCP 2026-07-28 elicitation, "Safe URL Handling" C7).
 */
export function foreign(tag: 'p' | 'div' | 'dd' | 'span' | 'pre', text: string, className = ''): HTMLElement {
	return el(tag, { class: `foreign ${className}`.trim(), dir: 'auto' }, text)
}

/** sheets makes constructable style sheets once per text: they work under `style-src 'self'` without a nonce. */
const made = new Map<string, CSSStyleSheet>()
export function sheet(text: string): CSSStyleSheet {
	let found = made.get(text)
	if (!found) {
		found = new CSSStyleSheet()
		found.replaceSync(text)
		made.set(text, found)
	}
	return found
}

/** shadow opens the shadow root of an element with its style sheets. */
export function shadow(host: HTMLElement, ...css: string[]): ShadowRoot {
	const root = host.attachShadow({ mode: 'open' })
	root.adoptedStyleSheets = css.map(sheet)
	return root
}

/** focused is the element with the focus inside a root, or null. */
export function focused(root: ShadowRoot): HTMLElement | null {
	return root.activeElement instanceof HTMLElement ? root.activeElement : null
}

/**
 * keepFocus runs a change of the tree and gives the focus back: to the same
 * element if it is still there, else to the one that has its id now, caret
 * included. It reports whether the focus is where it was.
 */
export function keepFocus(root: ShadowRoot, change: () => void): boolean {
	const before = focused(root)
	const caret = before && isText(before) ? before.selectionStart : null
	const scrolled = [...root.querySelectorAll('.scroll')].map((node) => [node, node.scrollTop] as const)
	change()
	for (const [node, top] of scrolled) if (top > 0 && node.isConnected) node.scrollTop = top
	if (!before || root.activeElement === before) return true
	const after = root.contains(before) ? before : before.id ? root.getElementById(before.id) : null
	if (!after) return false
	after.focus({ preventScroll: true })
	if (caret !== null && isText(after)) after.setSelectionRange(caret, caret)
	return true
}

function isText(node: Element): node is HTMLInputElement | HTMLTextAreaElement {
	return node instanceof HTMLTextAreaElement || node instanceof HTMLInputElement && (node.type === 'text' || node.type === 'search')
}

let ids = 0
/** uid is an id that is unique in this document. */
export function uid(prefix: string): string {
	return `${prefix}-${++ids}`
}

/** randomId is n bytes of randomness in base64url. */
export function randomId(bytes: number): string {
	const raw = crypto.getRandomValues(new Uint8Array(bytes))
	return btoa(String.fromCharCode(...raw)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
