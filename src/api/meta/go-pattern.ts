import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

let loaded: typeof RE2JS | undefined

/** Compiling costs thirty times what a match does, and every object of a kind has the same few patterns. */
const compiled = new Map<string, RE2JS>()
const mostCompiled = 1000
/** Compiled, an instruction takes more than a hundred bytes, and half a microsecond to make. */
const mostInstructions = 200_000
const mostInstructionsOfOne = 20_000
/** To find out that a class of characters nobody closes is none takes time as well. */
const longestPattern = 200_000
/** Those of a text that is longer are matched by states made on the way: ten times as fast, but up to megabytes that stay with the pattern. */
const longText = 16 * 1024
let instructions = 0

/**
 * A pattern as Go reads it: it takes linear time. Throws where Go would, and where counted repetitions make it too large to be compiled in
 * one go. The engine is loaded with the first pattern: most servers never see any.
 */
export function goPattern(pattern: string): RE2JS {
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  loaded ??= (createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }).RE2JS
  const size = aboutInstructions(pattern)
  // Go's word for those that are too large for it.
  if (size > mostInstructionsOfOne || pattern.length > longestPattern) throw new Error('error parsing regexp: expression too large')
  const read = loaded.compile(pattern)
  if (compiled.size >= mostCompiled || instructions + size > mostInstructions) {
    compiled.clear()
    instructions = 0
  }
  compiled.set(pattern, read)
  instructions += size
  return read
}

/** Whether the pattern is found anywhere in the text. */
export function goMatches(pattern: string, text: string): boolean {
  const known = goPattern(pattern)
  if (text.length <= longText || loaded === undefined) return known.matcher(text).find()
  // A copy, so that its states go with it.
  return loaded.compile(pattern).test(text)
}

/** Of what a pattern is compiled to; read loosely, since what is no pattern is refused elsewhere. */
export function aboutInstructions(pattern: string): number {
  const groups = [0]
  let last = 0
  const add = (size: number) => {
    groups[groups.length - 1] = (groups.at(-1) as number) + size
    last = size
  }
  for (let at = 0; at < pattern.length; at++) {
    switch (pattern[at]) {
      case '\\':
        at++
        add(1)
        break
      case '[':
        at = endOfClass(pattern, at)
        add(1)
        break
      case '(':
        groups.push(1)
        break
      case ')':
        add((groups.length > 1 ? (groups.pop() as number) : 1) + 1)
        break
      case '{': {
        const { times, end } = repetition(pattern, at)
        const size = last
        add(size * (times - 1))
        last = size * times
        at = end
        break
      }
      default:
        add(1)
    }
  }
  return groups.reduce((sum, size) => sum + size, 0)
}

function endOfClass(pattern: string, start: number): number {
  let at = start + 1
  if (pattern[at] === '^') at++
  // The first one is a bracket itself.
  for (at++; at < pattern.length && pattern[at] !== ']'; at++) if (pattern[at] === '\\') at++
  return at
}

/** `{3}`, `{3,}`, `{3,5}`: of those that may be there the test is an instruction as well. Anything else is a brace. */
function repetition(pattern: string, start: number): { times: number; end: number } {
  const [text, least = '', upTo, most = ''] = /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(pattern.slice(start, start + 12)) ?? []
  if (text === undefined) return { times: 2, end: start }
  const times = Math.max(Number(least), Number(most), 1)
  return { times: upTo === undefined ? times : 2 * times, end: start + text.length - 1 }
}
