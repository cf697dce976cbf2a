/** Objects from YAML and to YAML. */

import { atOnce, type Steps } from '#base/steps.ts'
import type { JsonObject } from './canonical-walk.ts'
import { keysIn } from './duplicate-fields.ts'
import { type Decoded, decodingValue, type TypeReference } from './json.ts'
import { parseJson } from './parse-json.ts'
import { countKeys } from './scan-json.ts'
import { readYamlValue, readYamlValues, type YamlValue } from './yaml-reader.ts'
import { YamlWriter } from './yaml-writer.ts'

/** The first document, as JSON. Throws `DecodeError`. */
export function readYaml(bytes: Uint8Array): YamlDocument {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  const json = asJson(bytes, text)
  return new YamlDocument(json ?? readYamlValue(text))
}

/** All documents of a file of manifests. Throws `DecodeError`. */
export function readYamlDocuments(bytes: Uint8Array): YamlDocument[] {
  return readYamlValues(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()).map((value) => new YamlDocument(value))
}

export class YamlDocument {
  readonly value: unknown
  /** Upstream's complaint about keys that come twice. */
  readonly duplicateError: string | undefined

  constructor({ value, duplicates }: YamlValue) {
    this.value = value
    this.duplicateError = duplicates.length === 0 ? undefined : `yaml: unmarshal errors:\n  ${duplicates.join('\n  ')}`
  }

  /** Takes `value` over. Throws `DecodeError`. */
  decode<T = JsonObject>(type: TypeReference): Decoded<T> {
    return atOnce(this.decoding<T>(type))
  }

  /** As `decode`, in steps. */
  *decoding<T = JsonObject>(type: TypeReference): Steps<Decoded<T>> {
    const { object, strictErrors } = yield* decodingValue<T>(this.value, type)
    return { object, strictErrors: this.duplicateError === undefined ? strictErrors : [this.duplicateError, ...strictErrors] }
  }
}

export function decodeYaml<T = JsonObject>(bytes: Uint8Array, type: TypeReference): Decoded<T> {
  return readYaml(bytes).decode<T>(type)
}

/** Of any JSON value; the keys come out sorted. */
export function encodeYaml(value: unknown): Buffer {
  return atOnce(encodingYaml(value))
}

/** As `encodeYaml`, in steps. */
export function* encodingYaml(value: unknown): Steps<Buffer> {
  const pieces: Buffer[] = []
  for (const piece of yamlPieces(value)) {
    pieces.push(Buffer.from(piece))
    yield
  }
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
}

/** The text that `encodeYaml` makes bytes of, bit by bit; some may be empty. */
export function yamlPieces(value: unknown): Generator<string> {
  return new YamlWriter().pieces(value)
}

export function yamlText(value: unknown, options: { keepsOrder?: boolean } = {}): string {
  let text = ''
  for (const piece of new YamlWriter(options).pieces(value)) text += piece
  return text
}

/** Most of what is called YAML on the wire is JSON, which is read much faster as such. Undefined where it is none, or has keys twice. */
function asJson(bytes: Uint8Array, text: string): YamlValue | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  try {
    const value: unknown = parseJson(text)
    const keys = countKeys(bytes)
    return keys === keysIn(value, 0) ? { value, duplicates: [] } : undefined
  } catch {
    return undefined
  }
}
