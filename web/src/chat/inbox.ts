// <parley-inbox>: every open question and permission that waits for this person,
// oldest first, whatever conversation it belongs to. What is answered here stays
// as its record until the page is left, so that nothing vanishes under the reader.

import { el, fill, keepFocus, shadow } from '../lib/dom'
import { StoreElement } from '../lib/element'
import type { Store } from '../lib/store'
import { t } from '../lib/text'
import { Item } from './item'
import { Refusals } from './refusals'
import base from '../lib/base.css'
import items from './item.css'
import css from './chat.css'

/** waitingWords says how much waits for the person, such as "2 questions waiting". */
export function waitingWords(store: Store): { n: number; words: string } {
	const questions = store.waiting().length
	const permissions = store.deciding().length
	const n = questions + permissions
	if (permissions === 0) return { n, words: t(questions === 0 ? 'inbox.none' : 'inbox.waiting', { n: questions }) }
	const decide = t('inbox.permissions', { n: permissions })
	return { n, words: questions === 0 ? decide : t('inbox.both', { questions: t('inbox.waiting', { n: questions }), permissions: decide }) }
}

export class ParleyInbox extends StoreElement {
	readonly #root: ShadowRoot
	#leave: (() => void) | null = null
	#refusals = new Refusals(null, 'inbox')
	readonly #items = new Set<string>()
	readonly #title = el('h1', { tabIndex: -1 })
	readonly #list = el('div', { class: 'questions' })
	readonly #note = el('p', { class: 'quiet' })

	constructor() {
		super()
		this.#root = shadow(this, base, items, css)
	}

	connectedCallback(): void {
		this.takeEarlyProperties()
		this.#refusals = new Refusals(this.store, 'inbox')
		this.#leave = this.subscribe(({ kind }) => {
			if (kind === 'question' || kind === 'approval' || kind === 'snapshot' || kind === 'refusals') this.#render()
		})
		this.store.start()
		fill(this.#root, el('div', { class: 'inbox' }, this.#title, this.#note, this.#refusals.node, this.#list))
		this.#render()
	}

	disconnectedCallback(): void {
		this.#leave?.()
		this.#leave = null
	}

	#render(): void {
		const { store } = this
		this.#title.textContent = store.loaded ? waitingWords(store).words : t('loading')
		this.#note.textContent = t('inbox.about')
		keepFocus(this.#root, () => this.#refusals.update())
		const waiting = [...store.waiting().map((question) => ({ question, created: question.created_at })), ...store.asking().map((approval) => ({ approval, created: approval.created_at }))]
		waiting.sort((a, b) => Date.parse(a.created) - Date.parse(b.created))
		for (const one of waiting) {
			const row = 'question' in one ? one.question : one.approval
			if (this.#items.has(row.id)) continue
			const { node } = new Item(this.store, 'question' in one ? 'question' : 'approval', row.id)
			this.#items.add(row.id)
			this.#list.append(node)
		}
	}
}
