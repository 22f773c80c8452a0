// <parley-chat>: one conversation. Calls and their questions in the order of
// time, and below them the picker for the next call.

import { append, el, fill, keepFocus, shadow } from '../lib/dom'
import { StoreElement } from '../lib/element'
import { t } from '../lib/text'
import { CallView } from './call'
import { Picker } from './picker'
import { Refusals } from './refusals'
import base from '../lib/base.css'
import form from '../form/form.css'
import css from './chat.css'

const slack = 100 // pixels of the end that may be out of sight

export class ParleyChat extends StoreElement {
	static readonly observedAttributes = ['conversation-id']

	readonly #root: ShadowRoot
	#leave: (() => void)[] = []
	#calls = new Map<string, CallView>()
	#picker: Picker | null = null
	#refusals = new Refusals(null, 'chat')
	#folded = false
	#news: Set<string> | null = null
	readonly #title = el('h1', { class: 'away' }, t('chat.title'))
	readonly #timeline = el('div', { class: 'timeline' })
	readonly #empty = el('div', { class: 'empty' })

	constructor() {
		super()
		this.#root = shadow(this, base, form, css)
	}

	get conversationId(): string {
		return this.getAttribute('conversation-id') ?? ''
	}

	connectedCallback(): void {
		this.takeEarlyProperties()
		const store = this.store
		this.#picker = new Picker({
			store, root: this.#root, conversation: () => this.conversationId,
			ran: (call) => this.show(call.id),
		})
		this.#refusals = new Refusals(store, 'chat')
		fill(this.#root, this.#refusals.node, this.#title, this.#empty, this.#timeline, this.#picker.node)
		this.#leave = [
			this.subscribe((change) => {
				if (change.kind === 'conversations' || change.kind === 'asks') return
				if (change.kind === 'connection' && store.connection === 'live') this.#picker?.retry()
				this.#render()
			}),
			store.watch(this.conversationId),
		]
		store.start()
		this.#render()
	}

	disconnectedCallback(): void {
		for (const leave of this.#leave) leave()
		this.#leave = []
	}

	attributeChangedCallback(_name: string, before: string | null, after: string | null): void {
		if (!this.isConnected || before === after) return
		this.disconnectedCallback()
		this.#calls.clear()
		this.#folded = false
		this.#news = null
		fill(this.#timeline)
		this.connectedCallback()
	}

	/** show scrolls to a call and gives it the focus. */
	show(call: string): void {
		this.#render()
		this.#calls.get(call)?.focus()
	}

	#render(): void {
		const following = this.#atEnd()
		this.#draw()
		const news = [...this.#calls.values()].map((view) => view.newest()).filter((one) => one !== null)
		const fresh = news.filter((one) => this.#news && !this.#news.has(one.name)).at(-1)
		// What was here when the page was opened is no news.
		if (this.#news || news.length > 0 || this.store.loaded) this.#news = new Set(news.map((one) => one.name))
		if (fresh && following) fresh.node.scrollIntoView({ block: 'nearest' })
	}

	// Whether the end of the conversation is in sight and nobody is typing: only
	// then may the page scroll to what is new. The focus stays where it is.
	#atEnd(): boolean {
		let active: Element | null = document.activeElement
		while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement
		if (active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement && (active.type === 'text' || active.type === 'search')) return false
		return this.getBoundingClientRect().bottom <= window.innerHeight + slack
	}

	#draw(): void {
		const store = this.store
		keepFocus(this.#root, () => {
			const calls = store.callsOf(this.conversationId)
			for (const call of calls) {
				let view = this.#calls.get(call.id)
				if (!view) {
					view = new CallView(call.id, { store, via: 'chat', show: (id) => this.show(id) })
					this.#calls.set(call.id, view)
				}
				view.update()
			}
			calls.forEach((call, i) => {
				const node = this.#calls.get(call.id)?.node
				if (node && this.#timeline.children[i] !== node) this.#timeline.insertBefore(node, this.#timeline.children[i] ?? null)
			})
			this.#refusals.update()
			// A session that may not run anything is not told to.
			const runs = store.may('call')
			this.#empty.hidden = calls.length > 0 || !runs
			this.#title.hidden = !this.#empty.hidden
			if (this.#picker) this.#picker.node.hidden = !runs
			if (!runs) return
			if (calls.length === 0 && this.#empty.childElementCount === 0) {
				append(this.#empty, [el('h1', null, t('chat.empty')), el('p', null, t('chat.empty.text'))])
			}
			// An older conversation opens on what happened, not on the list of tools.
			if (calls.length > 0 && !this.#folded) {
				this.#folded = true
				this.#picker?.fold()
			}
			this.#picker?.update(calls.length === 0)
		})
	}
}
