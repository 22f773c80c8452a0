// Notifications of the browser, off until the person turns them on. They say who
// asks and never what: they stay on lock screens and in lists of other programs.

import type { Store } from '../lib/store'
import { t } from '../lib/text'

const name = 'parley.notify'

/** canNotify says whether this browser has notifications on this page. */
export function canNotify(): boolean {
	return 'Notification' in window && window.isSecureContext
}

/** notifies says whether they are on. */
export function notifies(): boolean {
	try {
		return canNotify() && Notification.permission === 'granted' && localStorage.getItem(name) === 'on'
	} catch {
		return false
	}
}

/** setNotifies turns them on or off; it reports whether they are on. The browser asks the person first. */
export async function setNotifies(on: boolean): Promise<boolean> {
	try {
		if (on && await Notification.requestPermission() === 'granted') localStorage.setItem(name, 'on')
		else localStorage.removeItem(name)
	} catch { /* without storage they stay off */ }
	return notifies()
}

/** notify tells of what is asked while nobody looks at the page. */
export function notify(store: Store, open: (what: 'question' | 'approval', id: string) => void): void {
	store.subscribe((change) => {
		if (change.kind !== 'asks' || !document.hidden || !notifies()) return
		const { what, id, key, server } = change
		try {
			// Of several open tabs one tells: the tag is the same. What is asked again has
			// another, or it would take the place of the first without a sound.
			const shown = new Notification(what === 'question' ? t('said.notify', { server }) : t('said.notify.approval'), { tag: `parley-${key}`, dir: 'auto' })
			shown.onclick = () => {
				window.focus()
				shown.close()
				open(what, id)
			}
		} catch { /* browsers on phones have them for service workers alone */ }
	})
}
