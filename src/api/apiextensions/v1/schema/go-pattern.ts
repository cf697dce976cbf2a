import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

let loaded: typeof RE2JS | undefined

/** Compiling costs thirty times what a match does, and every object of a kind has the same few patterns. */
const compiled = new Map<string, RE2JS>()
const mostCompiled = 1000
/** Longer ones are compiled each time, so that nobody's definitions fill the memory. */
const longestKept = 1000

/** A pattern as Go reads it; throws where Go would. The engine is loaded with the first pattern: most servers never see any. */
export function goPattern(pattern: string): RE2JS {
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  loaded ??= (createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }).RE2JS
  const read = loaded.compile(pattern)
  if (compiled.size >= mostCompiled) compiled.clear()
  if (pattern.length <= longestKept) compiled.set(pattern, read)
  return read
}
