/**
 * Objects as upstream's error messages quote them. Upstream validates structs that have no JSON names, so a quoted one shows
 * Go field names, every field, and null for what is unset: `{"Type":"Nope","RollingUpdate":null}`.
 */
import { internalStructs } from '#api/meta/internal-structs.gen.ts'

type Field = {
  /** Name in the quotation. */
  shown: string
  /** Name in the object; empty for an embedded struct, whose fields stand among those of its owner. */
  json: string
  type: string
  omitEmpty: boolean
}

const lines = new Map<string, string>()
const parsed = new Map<string, readonly Field[]>()

function fieldsOf(struct: string): readonly Field[] {
  const known = parsed.get(struct)
  if (known) return known
  if (lines.size === 0) {
    for (const line of internalStructs.split('\n')) {
      const space = line.indexOf(' ')
      if (space > 0) lines.set(line.slice(0, space), line.slice(space + 1))
    }
  }
  const line = lines.get(struct)
  if (line === undefined) throw new Error(`no struct ${struct} to quote`)
  const fields = line.split(' ').filter(Boolean).map(parseField)
  parsed.set(struct, fields)
  return fields
}

/** `Name:s`, `CephFS=cephfs:*core.CephFSVolumeSource`, `labels?:{s` (has a JSON name and is omitted when empty), `^meta.ObjectMeta`. */
function parseField(text: string): Field {
  if (text.startsWith('^')) return { shown: '', json: '', type: text.slice(1), omitEmpty: false }
  const colon = text.indexOf(':')
  const omitEmpty = text[colon - 1] === '?'
  const [shown = '', json] = text.slice(0, omitEmpty ? colon - 1 : colon).split('=')
  return { shown, json: json ?? loweredHead(shown), type: text.slice(colon + 1), omitEmpty }
}

/** HTTPGet is httpGet, FSType is fsType, Name is name. */
function loweredHead(name: string): string {
  return name.replace(/^[A-Z]+(?![a-z])|^[A-Z]/, (head) => head.toLowerCase())
}

type Fields = Record<string, unknown>

/**
 * `struct` is the package and type upstream validates: `core.PodTemplateSpec`, `meta.LabelSelector`.
 * Prefixes stand for a pointer (`*`), a list (`[`) and a map (`{`). The result is made to be given to a Check.
 */
export function asInternal(struct: string, value: unknown): unknown {
  switch (struct[0]) {
    case '*':
      return value === undefined || value === null ? null : asInternal(struct.slice(1), value)
    case '[':
      return Array.isArray(value) ? value.map((each) => asInternal(struct.slice(1), each)) : null
    case '{':
      return value === undefined || value === null ? null : sortedMap(value as Fields, struct.slice(1))
  }
  switch (struct) {
    case 's':
      return value ?? ''
    case 'i':
    case 'n':
      return value ?? 0
    case 'b':
      return value ?? false
    case 'q':
      return value ?? '0'
    case 'd':
      return value ?? '0s'
    case 't':
    case 'r':
    case 'y':
      return value ?? null
  }
  const shown: Fields = {}
  fill(shown, struct, (value ?? {}) as Fields)
  return shown
}

function fill(shown: Fields, struct: string, object: Fields): void {
  const source = struct === 'core.PodSpec' ? withHostFieldsInSecurityContext(object) : object
  for (const field of fieldsOf(struct)) {
    if (field.json === '') {
      fill(
        shown,
        field.type,
        struct === 'core.PodTemplateSpec' || field.type === 'meta.ObjectMeta' ? ((object['metadata'] ?? {}) as Fields) : source,
      )
      continue
    }
    const value = source[field.json]
    if (field.omitEmpty && isEmpty(value)) continue
    shown[field.shown] = asInternal(field.type, value)
  }
}

/** Upstream keeps what a pod shares with its host inside the security context, which is therefore never unset. */
function withHostFieldsInSecurityContext(spec: Fields): Fields {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers } = spec
  return {
    ...spec,
    securityContext: {
      hostNetwork,
      hostPID,
      hostIPC,
      shareProcessNamespace,
      hostUsers,
      ...(spec['securityContext'] as Fields | undefined),
    },
  }
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function sortedMap(map: Fields, type: string): Fields {
  const sorted: Fields = {}
  for (const key of Object.keys(map).sort()) sorted[key] = asInternal(type, map[key])
  return sorted
}
