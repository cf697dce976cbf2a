/**
 * What an old version of a kind can say and the stored one cannot, kept in an annotation of the stored object.
 *
 * A note is what the old version shows of the stored object, and what was said instead. It holds for as long as that is still
 * shown: whoever changes the object through another version is not overruled by what was said before.
 */

import { jsonText } from '#api/codec/json-text.ts'
import { setOwn } from '#api/codec/own-key.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { equalJson } from './patch/json-value.ts'

type Path = readonly (string | number)[]
type Note = { at: Path; shown?: unknown; said?: unknown }

/** Annotations of an object may have 256 KiB in all; who needs more than this for notes must do without. */
const maxNoteChars = 64 * 1024

const annotationFor = (apiVersion: string): string => `legacy.typernetes.dev/${apiVersion.replace('/', '.')}`

/** Notes in `stored` what is said but not shown. */
export function keepLosses(stored: { metadata?: V1ObjectMeta }, apiVersion: string, said: object, shown: object): void {
  const notes: Note[] = []
  collect(said, shown, [], notes)
  if (notes.length === 0) return
  const text = jsonText(notes)
  if (text.length > maxNoteChars) return
  stored.metadata ??= {}
  stored.metadata.annotations = { ...stored.metadata.annotations, [annotationFor(apiVersion)]: text }
}

function collect(said: unknown, shown: unknown, at: Path, notes: Note[]): void {
  if (equalJson(said, shown)) return
  const areLists = Array.isArray(said) && Array.isArray(shown)
  if (areLists ? said.length === shown.length : isRecord(said) && isRecord(shown)) {
    for (const key of keysOf(said as object, shown as object)) {
      const step = areLists ? Number(key) : key
      collect(ownValue(said, step), ownValue(shown, step), [...at, step], notes)
    }
    return
  }
  notes.push({ at, ...defined({ shown, said }) })
}

/** Removes the notes from a stored object, which is private, and returns them. */
export function takeLosses(stored: { metadata?: V1ObjectMeta }, apiVersion: string): (shown: object) => void {
  const key = annotationFor(apiVersion)
  const text = stored.metadata?.annotations?.[key]
  if (text === undefined || stored.metadata?.annotations === undefined) return () => undefined
  delete stored.metadata.annotations[key]
  if (Object.keys(stored.metadata.annotations).length === 0) delete stored.metadata.annotations
  const notes = parsed(text)
  return (shown) => {
    for (const note of notes) if (isNote(note)) restore(shown, note)
  }
}

// TypeScript's library does not know of the last argument yet.
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown
const parseJson = JSON.parse as (text: string, reviver: Reviver) => unknown

/** Anybody may write annotations: what is no note is none. */
function parsed(text: string): unknown[] {
  try {
    const value = parseJson(text, (_key, each, { source = '' }) => (isLarge(each) && /^-?\d+$/.test(source) ? BigInt(source) : each))
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

/** Integers that no number holds exactly. */
const isLarge = (value: unknown): boolean => typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)

function isNote(value: unknown): value is Note {
  return isRecord(value) && Array.isArray(value['at']) && value['at'].length > 0
}

function restore(object: object, { at, shown, said }: Note): void {
  let place: unknown = object
  for (const step of at.slice(0, -1)) place = ownValue(place, step)
  const last = at.at(-1) ?? ''
  if (typeof place !== 'object' || place === null || !equalJson(ownValue(place, last), shown)) return
  if (said === undefined) delete (place as Record<string, unknown>)[last]
  else setOwn(place as Record<string, unknown>, String(last), said)
}

function ownValue(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return (value as Record<string, unknown>)[key]
}

const keysOf = (one: object, other: object): Set<string> => new Set([...Object.keys(one), ...Object.keys(other)])

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
