import { MalformedMessage } from '#wire/dns/dns-message.ts'

const longestName = 255
const longestLabel = 63
/** A name of 255 bytes has no more labels than this, and needs no more pointers than labels. */
const mostPointers = 126
const needsEscape = /[^!-[\]-~]|\./

/**
 * Reads a name, following pointers. `end` is where the name ends in place; pointers only lead backwards, and there are few of them, so that
 * a message with thousands of names costs no more than its size.
 */
export function readName(packet: Uint8Array, start: number): { name: string; end: number } {
  let name = ''
  let position = start
  let end = -1
  let lowest = start
  let length = 1
  let pointers = 0
  for (;;) {
    const size = packet[position]
    if (size === undefined) throw new MalformedMessage('a name goes past the end of the message')
    if (size === 0) return { name: name === '' ? '.' : name, end: end < 0 ? position + 1 : end }
    if (size >= 0xc0) {
      const low = packet[position + 1]
      if (low === undefined) throw new MalformedMessage('a pointer goes past the end of the message')
      const target = ((size & 0x3f) << 8) | low
      if (target >= lowest) throw new MalformedMessage('a pointer in a name does not lead backwards')
      if (++pointers > mostPointers) throw new MalformedMessage('a name has too many pointers')
      if (end < 0) end = position + 2
      lowest = target
      position = target
      continue
    }
    if (size > longestLabel) throw new MalformedMessage('a label of a name has an unknown form')
    length += size + 1
    if (length > longestName) throw new MalformedMessage('a name is longer than 255 bytes')
    if (position + 1 + size > packet.length) throw new MalformedMessage('a label goes past the end of the message')
    name += `${labelText(packet, position + 1, size)}.`
    position += size + 1
  }
}

function labelText(packet: Uint8Array, start: number, size: number): string {
  let text = ''
  let isPlain = true
  for (let index = start; index < start + size; index++) {
    const byte = packet[index] as number
    if (byte <= 0x20 || byte >= 0x7f || byte === 0x2e || byte === 0x5c) isPlain = false
    text += String.fromCharCode(byte)
  }
  return isPlain ? text : escapedLabel(text)
}

/** `label` has a byte a character. */
export function escapedLabel(label: string): string {
  if (!needsEscape.test(label) && !label.includes('\\')) return label
  let text = ''
  for (const char of label) {
    if (char === '.' || char === '\\') text += `\\${char}`
    else if (char > ' ' && char <= '~') text += char
    else text += `\\${String(char.charCodeAt(0)).padStart(3, '0')}`
  }
  return text
}

/** The labels of a name, escapes kept. */
export function labelsOf(name: string): string[] {
  if (name === '.' || name === '') return []
  if (!name.includes('\\')) return (name.endsWith('.') ? name.slice(0, -1) : name).split('.')
  const labels: string[] = []
  let label = ''
  for (let index = 0; index < name.length; index++) {
    const char = name[index] as string
    if (char === '\\') label += char + (name[++index] ?? '')
    else if (char === '.') {
      labels.push(label)
      label = ''
    } else label += char
  }
  if (label !== '') labels.push(label)
  return labels
}

/** A byte a character. Throws where the label cannot be sent. */
export function rawLabel(label: string): string {
  const raw = label.includes('\\') ? label.replace(/\\(\d{3}|.)/gs, (_, escaped: string) => unescaped(escaped)) : label
  if (raw === '' || raw.length > longestLabel) throw new MalformedMessage(`${label} is no label of a name: 1 to 63 bytes are allowed`)
  return raw
}

const unescaped = (escaped: string): string => (escaped.length === 3 ? String.fromCharCode(Number(escaped) & 0xff) : escaped)

/** In small letters, with a dot at the end. */
export function fullName(name: string): string {
  const lower = name.toLowerCase()
  return lower.endsWith('.') ? lower : `${lower}.`
}

/** Whether the name is the zone or below it; both in small letters. */
export function isWithin(name: string, zone: string): boolean {
  if (zone === '.') return true
  return name.endsWith(zone) && (name.length === zone.length || name[name.length - zone.length - 1] === '.')
}

/** The longest of the zones that the name is in. */
export function zoneOf(name: string, zones: readonly string[]): string | undefined {
  let found: string | undefined
  for (const zone of zones) if (isWithin(name, zone) && (found === undefined || zone.length > found.length)) found = zone
  return found
}
