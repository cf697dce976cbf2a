/** `--detach-keys`: keys that end the session and leave the container running. */
import { CliError } from '#cli/cli-error.ts'

const controlKeys = '@abcdefghijklmnopqrstuvwxyz[\\]^_'

/** `ctrl-p,ctrl-q`, or letters, or both. */
export function detachKeyBytes(text: string): Uint8Array {
  return Uint8Array.from(text.split(','), (key) => {
    if (key.length === 1) return key.charCodeAt(0)
    if (key === 'DEL') return 0x7f
    const code = /^ctrl-.$/.test(key) ? controlKeys.indexOf(key.slice(-1)) : -1
    if (code < 0) throw new CliError(`could not bind detach keys: Unknown character: '${key}'`)
    return code
  })
}

/** What is typed until the keys are; those that may still become them are held back. */
export async function* untilDetached(input: AsyncIterable<Uint8Array>, keys: Uint8Array, onDetach: () => void): AsyncGenerator<Uint8Array> {
  let matched = 0
  for await (const piece of input) {
    const passed: number[] = []
    for (const byte of piece) {
      if (byte !== keys[matched]) {
        passed.push(...keys.subarray(0, matched))
        matched = 0
      }
      if (byte === keys[matched]) matched++
      else passed.push(byte)
      if (matched < keys.length) continue
      if (passed.length > 0) yield Uint8Array.from(passed)
      onDetach()
      return
    }
    if (passed.length > 0) yield Uint8Array.from(passed)
  }
}
