import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

let loaded: typeof RE2JS | undefined

/** A pattern as Go reads it; throws where Go would. The engine is loaded with the first pattern: most servers never see any. */
export function goPattern(pattern: string): RE2JS {
  loaded ??= (createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }).RE2JS
  return loaded.compile(pattern)
}
