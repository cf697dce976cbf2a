/** The name under which a client owns fields. */

import { remembered } from '#base/remembered.ts'

const maxBytes = 128

/** Clients that do not name themselves are known by their user agent, up to the first slash. */
export function managerName(fieldManager: string | undefined, userAgent: string | undefined): string {
  if (fieldManager !== undefined && fieldManager !== '') return fieldManager
  return userAgent === undefined ? '' : nameOfAgent(userAgent)
}

const nameOfAgent = remembered((userAgent) => {
  let name = ''
  let size = 0
  for (const char of userAgent.split('/', 1)[0] ?? '') {
    if (!isPrintable(char)) continue
    size += Buffer.byteLength(char)
    if (size > maxBytes) break
    name += char
  }
  return name
})

/** As Go has it: letters, marks, numbers, punctuation, symbols, and of the spaces the plain one only. */
function isPrintable(char: string): boolean {
  return char === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char)
}
