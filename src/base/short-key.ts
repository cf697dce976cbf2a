import { hash } from 'node:crypto'
import { longestRemembered } from '#base/remembered.ts'

/** The text itself, or, of a long one, what stands for it: for who has to remember something by a text that clients choose. */
export function shortKey(text: string): string {
  return text.length <= longestRemembered ? text : `sha256:${hash('sha256', text, 'hex')}`
}
