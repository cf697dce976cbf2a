import type { ListLimit } from '#api/codec/protobuf-decode.ts'
import { requestEntityTooLarge } from '#api/meta/status-error.ts'
import { countYamlEntries } from '#apiserver/http/yaml-entries.ts'
import type { Steps } from '#base/steps.ts'

/** How many entries lists and maps of one object may have: time to judge an object goes by these rather than by its bytes. */
export type EntryLimits = {
  /** In one list or map. */
  inOne: number
  /** In all of them together. */
  inAll: number
}

const [quote, backslash, comma, openBrace, closeBrace, openBracket, closeBracket] = Buffer.from('"\\,{}[]')

/**
 * Refuses a body with too many entries before it is read, in steps, which takes a fraction of the time. Of JSON the entries of each list and map are
 * counted, of YAML those of all of them; other forms are counted when they have been read.
 */
export function* requiringFewEntries(body: Uint8Array, limits: EntryLimits): Steps<void> {
  const isJson = body[0] === openBrace || body[0] === openBracket
  if (isJson) yield* requiringFewInJson(body, limits)
  else if (!isProtobuf(body) && countYamlEntries(body, limits.inAll) > limits.inAll) throw tooManyInAll(limits.inAll)
}

const protobufStart = Buffer.from('k8s\0')

const isProtobuf = (body: Uint8Array): boolean => protobufStart.every((byte, index) => body[index] === byte)

/** Of a step: code that has not run often takes some milliseconds for it. */
const stepBytes = 256 * 1024

/** How far the entries have been counted. */
type Counted = {
  at: number
  inText: boolean
  /** One count a level: those above wait while a level below is counted. */
  outer: number[]
  here: number
  all: number
}

function* requiringFewInJson(body: Uint8Array, limits: EntryLimits): Steps<void> {
  const counted: Counted = { at: 0, inText: false, outer: [], here: 0, all: 0 }
  while (counted.at < body.length) {
    if (counted.at > 0) yield
    requireFewUpTo(Math.min(counted.at + stepBytes, body.length), body, counted, limits)
  }
}

/** Goes on up to `end`, or a byte further where that is escaped. */
function requireFewUpTo(end: number, body: Uint8Array, counted: Counted, { inOne, inAll }: EntryLimits): void {
  const { outer } = counted
  let { at, inText, here, all } = counted
  for (; at < end; at++) {
    const byte = body[at]
    if (inText) {
      if (byte === backslash) at++
      else if (byte === quote) inText = false
      continue
    }
    switch (byte) {
      case quote:
        inText = true
        break
      case comma:
        if (++here >= inOne) throw tooManyInOne(inOne)
        if (++all >= inAll) throw tooManyInAll(inAll)
        break
      case openBrace:
      case openBracket:
        outer.push(here)
        here = 0
        break
      case closeBrace:
      case closeBracket:
        here = outer.pop() ?? 0
        break
    }
  }
  Object.assign(counted, { at, inText, here, all })
}

/** Of the list or map that the body is, without reading it. */
export function countOutermost(body: Uint8Array): number {
  let depth = 0
  let commas = 0
  for (let index = 0; index < body.length; index++) {
    const byte = body[index]
    if (byte === quote) index = endOfText(body, index + 1)
    else if (byte === comma && depth === 1) commas++
    else if (byte === openBrace || byte === openBracket) depth++
    else if (byte === closeBrace || byte === closeBracket) depth--
  }
  return commas + 1
}

/** Of the quotation mark, or of the body where there is none. */
function endOfText(body: Uint8Array, start: number): number {
  for (let index = start; index < body.length; index++) {
    const byte = body[index]
    if (byte === quote) return index
    if (byte === backslash) index++
  }
  return body.length
}

const tooManyInOne = (limit: number) => requestEntityTooLarge(`a list or map holds more than ${limit} entries`)
const tooManyInAll = (limit: number) => requestEntityTooLarge(`its lists and maps hold more than ${limit} entries`)

/** For the form of which lists and maps are limited while they are read: fields of which nothing is kept take as long. */
export const protobufLimit = ({ inOne, inAll }: EntryLimits): ListLimit => ({
  most: inOne,
  tooMany: tooManyInOne,
  dropped: { most: inAll, tooMany: () => requestEntityTooLarge(`more than ${inAll} of its fields are unknown or repeated`) },
})

/** The same of what was read from another form. */
export function requireFewEntriesIn(value: unknown, limits: EntryLimits): void {
  let all = 0
  const waiting: unknown[] = [value]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== 'object' || next === null || next instanceof Uint8Array) continue
    const inside: unknown[] = Array.isArray(next) ? next : Object.values(next)
    if (inside.length > limits.inOne) throw tooManyInOne(limits.inOne)
    all += inside.length
    if (all > limits.inAll) throw tooManyInAll(limits.inAll)
    for (const each of inside) if (typeof each === 'object' && each !== null) waiting.push(each)
  }
}
