// The person's own trail: what the audit log holds of their calls, in plain
// sentences. The log has no argument and no answer, so neither has the page.

import { append, el, fill, type Child } from '../lib/dom'
import { sentence } from '../lib/api'
import type { Store } from '../lib/store'
import { has, rich, t, when, type Key } from '../lib/text'
import { visible } from '../lib/visible'
import type { AuditEntry, Principal } from '../lib/wire'

const leaves = ['composed', 'allowed', 'delivered'] // of these an approval is what let the call leave
const pageSize = 50 // entries drawn at a time; the API sends more at once

export class Trail {
	readonly node = el('div', { class: 'listing', 'data-part': 'trail' })
	readonly #store: Store
	readonly #list = el('ol', { class: 'entries trail', role: 'list', 'aria-label': t('trail.list') })
	readonly #end = el('div')
	#read: AuditEntry[] = []
	#drawn = 0
	#last = 0
	#exhausted = false
	#busy = false

	constructor(store: Store) {
		this.#store = store
		fill(this.node, el('h1', { tabIndex: -1 }, t('trail.title')), el('p', { class: 'quiet' }, t('trail.about')), this.#list, this.#end)
	}

	/** open reads the newest entries. */
	open(): () => void {
		fill(this.#end, el('p', { class: 'quiet' }, t('loading')))
		void this.#more(false)
		return () => undefined
	}

	async #more(focus: boolean): Promise<void> {
		if (this.#busy) return
		this.#busy = true
		let problem = ''
		try {
			if (this.#drawn === this.#read.length && !this.#exhausted) {
				const { entries } = await this.#store.api.read<{ entries: AuditEntry[] | null }>(`/v1/audit${this.#last > 0 ? `?before=${this.#last}` : ''}`)
				const more = entries ?? []
				this.#exhausted = more.length === 0
				this.#read.push(...more)
				this.#last = more.at(-1)?.id ?? this.#last
			}
		} catch (error) {
			problem = sentence(error)
		}
		this.#busy = false
		const first = this.#drawn
		for (const entry of this.#read.slice(first, first + pageSize)) append(this.#list, this.#entry(entry))
		this.#drawn = Math.min(first + pageSize, this.#read.length)
		const done = this.#exhausted && this.#drawn === this.#read.length
		fill(this.#end,
			problem ? el('p', { class: 'notice bad', role: 'alert' }, problem) : null,
			done ? el('p', { class: 'quiet' }, t(this.#drawn === 0 ? 'trail.none' : 'trail.end'))
				: el('button', { type: 'button', id: 'trail-more', 'data-action': 'more', on: { click: () => void this.#more(true) } }, t('trail.more')))
		// Reading goes on where the button was.
		const next = this.#list.children[first]
		if (focus && next instanceof HTMLElement) next.focus({ preventScroll: true })
		else if (focus) this.node.querySelector<HTMLElement>('h1')?.focus()
	}

	#entry(entry: AuditEntry): Child {
		return el('li', { tabIndex: -1, 'data-kind': entry.kind },
			el('time', { class: 'time', dateTime: entry.at }, when(entry.at)),
			el('p', null, this.#sentence(entry)),
			entry.reason || entry.rule ? el('p', { class: 'hint' }, el('code', { class: 'value', dir: 'ltr' }, visible([entry.rule, entry.reason].filter(Boolean).join(' · ')))) : null,
			entry.approval && leaves.includes(entry.kind) ? el('p', { class: 'hint' }, t('trail.permission')) : null)
	}

	#sentence(entry: AuditEntry): Child[] {
		const { kind } = entry
		const end = `trail.end.${entry.state ?? ''}`
		const via = `via.${entry.via ?? ''}`
		const detail = variant(entry)
		const key = detail && has(`trail.${kind}.${detail}`) ? `trail.${kind}.${detail}` : `trail.${kind}`
		return rich(has(key) ? key : 'trail.other', {
			kind, n: entry.count ?? 1, server: visible(entry.server ?? '') || t('trail.a-server'), tool: entry.tool ? t('tool.titled', { title: visible(entry.tool) }) : t('trail.a-tool'),
			state: has(end) ? t(end as Key) : entry.state ?? '', via: has(via) ? t(via as Key) : '', by: this.#by(entry),
		})
	}

	#by(entry: AuditEntry): string {
		if (entry.machine) return t('trail.by.machine')
		const by = entry.by?.subject ? entry.by : null
		return by && !same(by, this.#store.session?.principal) ? t('trail.by', { who: visible(by.subject) }) : t('trail.by.you')
	}
}

// Which of the sentences of its kind an entry is.
function variant(entry: AuditEntry): string {
	switch (entry.kind) {
		case 'composed': return entry.actor ?? ''
		case 'asked': return entry.mode ?? ''
		case 'shown': return entry.approval ? 'approval' : ''
		case 'answered':
		case 'closed':
		case 'signed_in':
		case 'not_revoked':
		case 'approval_decided': return entry.state ?? ''
		default: return ''
	}
}

function same(a: Principal, b: Principal | undefined): boolean {
	return b !== undefined && a.issuer === b.issuer && a.tenant === b.tenant && a.subject === b.subject
}
