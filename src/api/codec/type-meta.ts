import { DecodeError } from './decode-error.ts'
import { kindOf } from './exact-json.ts'

/** What an object says of itself; empty where it does not say. */
export type TypeMeta = { apiVersion: string; kind: string }

/** The type Go prints when it could not find these two in what it was given. */
const goType = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** Of a parsed JSON document. Throws `DecodeError`. */
export function typeMetaOf(value: unknown): TypeMeta {
  const kind = kindOf(value)
  const meta: TypeMeta = { apiVersion: '', kind: '' }
  if (kind === 'null') return meta
  if (kind !== 'object') throw unreadable(`json: cannot unmarshal ${kind} into Go value of type ${goType}`)
  for (const [key, each] of Object.entries(value as Record<string, unknown>)) {
    // At this point, and only here, upstream does not mind the case.
    const field =
      key.length === 4 && key.toLowerCase() === 'kind'
        ? 'kind'
        : key.length === 10 && key.toLowerCase() === 'apiversion'
          ? 'apiVersion'
          : undefined
    if (field === undefined || each === null) continue
    if (typeof each !== 'string') throw unreadable(`json: cannot unmarshal ${kindOf(each)} into Go struct field .${field} of type string`)
    meta[field] = each
  }
  return meta
}

function unreadable(reason: string): DecodeError {
  return new DecodeError(`couldn't get version/kind; json parse error: ${reason}`)
}
