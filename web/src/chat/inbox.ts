// <parley-inbox>: every open question of this person, oldest first, whatever
// conversation it belongs to. A question that is answered here stays as its
// record until the page is left, so that nothing vanishes under the reader.

import { el, fill, shadow } from '../lib/dom'
import { StoreElement } from '../lib/element'
import { rich, t, toolCalled } from '../lib/text'
import type { ParleyQuestion } from '../card/question'
import base from '../lib/base.css'
import css from './chat.css'

export class ParleyInbox extends StoreElement {
	readonly #root: ShadowRoot
	#leave: (() => void) | null = null
	readonly #items = new Map<string, HTMLElement>()
	readonly #title = el('h1', { tabIndex: -1 })
	readonly #list = el('div', { class: 'questions' })
	readonly #note = el('p', { class: 'quiet' })

	constructor() {
		super()
		this.#root = shadow(this, base, css)
	}

	connectedCallback(): void {
		this.takeEarlyProperties()
		this.#leave = this.store.subscribe((change) => {
			if (change.kind === 'question' || change.kind === 'snapshot') this.#render()
		})
		this.store.start()
		fill(this.#root, el('div', { class: 'inbox' }, this.#title, this.#note, this.#list))
		this.#render()
	}

	disconnectedCallback(): void {
		this.#leave?.()
		this.#leave = null
	}

	#render(): void {
		const waiting = this.store.waiting()
		this.#title.textContent = this.store.loaded ? t(waiting.length === 0 ? 'inbox.none' : 'inbox.waiting', { n: waiting.length }) : t('loading')
		this.#note.textContent = t('inbox.about')
		for (const question of waiting) {
			if (this.#items.has(question.id)) continue
			const card = document.createElement('parley-question') as ParleyQuestion
			card.store = this.store
			card.via = 'inbox'
			card.setAttribute('question-id', question.id)
			const item = el('div', { class: 'item' },
				el('div', { class: 'context' }, el('h2', null, rich('inbox.context', { tool: toolCalled(question.tool_title, question.tool) })),
					el('button', {
						type: 'button', class: 'link', on: {
							click: () => this.dispatchEvent(new CustomEvent('parley-show', { bubbles: true, composed: true, detail: { conversation: question.conversation, call: question.call } })),
						},
					}, t('inbox.show'))),
				card)
			this.#items.set(question.id, item)
			this.#list.append(item)
		}
	}
}
