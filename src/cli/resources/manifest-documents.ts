/** The objects of one file of manifests: JSON, one after another, or YAML with lines of dashes between. */
import { DecodeError } from '#api/codec/decode-error.ts'
import { findJsonSyntaxError } from '#api/codec/json-syntax-error.ts'
import { readYaml } from '#api/codec/yaml.ts'

/** What was read; where it cannot be read, the problem is the last of them. */
export type ManifestDocument = { value: unknown } | { problem: string }

export function manifestDocuments(text: string): ManifestDocument[] {
  if (!/^\s*\{/.test(text)) return yamlDocuments(text)
  const found: ManifestDocument[] = []
  for (let rest = text; ; ) {
    if (rest.trim() === '') return found
    const end = endOfValue(rest)
    const problem = end === undefined ? 'unexpected EOF' : jsonProblem(rest.slice(0, end), text.length - rest.length)
    if (end !== undefined && problem === undefined) {
      found.push({ value: parsedValue(rest.slice(0, end)) })
      rest = rest.slice(end)
      continue
    }
    // After two objects it is JSON for certain; before, the rest may be YAML, as kubectl sees it.
    if (found.length > 1) return [...found, { problem: problem ?? '' }]
    const documents = yamlDocuments(rest.replace(/^[^\S\n]*\n/, ''))
    const [first] = documents
    return [...found, ...(first !== undefined && 'problem' in first ? [{ problem: problem ?? first.problem }] : documents)]
  }
}

/** Documents are separated by lines that begin with three dashes. */
function yamlDocuments(text: string): ManifestDocument[] {
  const found: ManifestDocument[] = []
  for (const document of text.split(/^---[^\n]*(?:\n|$)/m)) {
    if (document.trim() === '') continue
    try {
      const value = parsedValue(document)
      if (value !== null) found.push({ value })
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      return [...found, { problem: error.message.startsWith('yaml:') ? `error converting YAML to JSON: ${error.message}` : error.message }]
    }
  }
  return found
}

const parsedValue = (text: string): unknown => readYaml(Buffer.from(text)).value

/** Where the object that the text begins with ends; undefined where it does not. */
function endOfValue(text: string): number | undefined {
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (isQuoted) {
      if (char === '\\') at++
      else if (char === '"') isQuoted = false
    } else if (char === '"') isQuoted = true
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') {
      depth--
      if (depth <= 0) return at + 1
    } else if (depth === 0 && /\S/.test(char ?? '')) return at + 1
  }
  return undefined
}

/** In Go's words, with the place in the file. */
function jsonProblem(text: string, before: number): string | undefined {
  const found = findJsonSyntaxError(Buffer.from(text))
  return found === undefined ? undefined : `json: offset ${before + found.offset}: ${found.message}`
}
