import type { ApiObject } from '#cli/call.ts'

export type Target = {
  group?: string
  version?: string
  kind?: string
  name?: string
  namespace?: string
  labelSelector?: string
  annotationSelector?: string
}
export type PatchEntry = {
  path?: string
  patch?: string
  target?: Target
  options?: { allowNameChange?: boolean; allowKindChange?: boolean }
}
export type GeneratorOptions = {
  labels?: Record<string, string>
  annotations?: Record<string, string>
  disableNameSuffixHash?: boolean
  immutable?: boolean
}
export type GeneratorEntry = {
  name: string
  namespace?: string
  behavior?: 'create' | 'replace' | 'merge'
  type?: string
  literals?: string[]
  files?: string[]
  envs?: string[]
  env?: string
  options?: GeneratorOptions
}
export type ReplacementEntry = {
  path?: string
  sourceValue?: string
  source?: Target & { fieldPath?: string; options?: { delimiter?: string; index?: number } }
  targets?: {
    select: Target
    reject?: Target[]
    fieldPaths?: string[]
    options?: { delimiter?: string; index?: number; create?: boolean }
  }[]
}

/** The file `kustomization.yaml`. */
export type Kustomization = {
  resources?: string[]
  bases?: string[]
  components?: string[]
  namespace?: string
  namePrefix?: string
  nameSuffix?: string
  commonLabels?: Record<string, string>
  labels?: { pairs: Record<string, string>; includeSelectors?: boolean; includeTemplates?: boolean }[]
  commonAnnotations?: Record<string, string>
  images?: { name: string; newName?: string; newTag?: string; digest?: string }[]
  replicas?: { name: string; count: number }[]
  patches?: PatchEntry[]
  patchesStrategicMerge?: string[]
  patchesJson6902?: PatchEntry[]
  configMapGenerator?: GeneratorEntry[]
  secretGenerator?: GeneratorEntry[]
  generatorOptions?: GeneratorOptions
  replacements?: ReplacementEntry[]
  sortOptions?: { order?: 'legacy' | 'fifo' }
}

/** A field that a path of a list leads to, each place it occurs at. */
export type Place = { holder: Record<string, unknown> | unknown[]; key: string | number }

/** `spec/template/spec/containers/[name=x]/image`, with `*` for every item. */
export function placesAt(object: ApiObject, path: readonly string[], { create = false }: { create?: boolean } = {}): Place[] {
  let holders: unknown[] = [object]
  for (const [index, part] of path.entries()) {
    const isLast = index === path.length - 1
    const next: unknown[] = []
    const places: Place[] = []
    for (const holder of holders) {
      if (typeof holder !== 'object' || holder === null) continue
      for (const key of keysIn(holder, part)) {
        const map = holder as Record<string | number, unknown>
        if (map[key] === undefined && create && !Array.isArray(holder)) map[key] = isLast ? '' : {}
        if (map[key] === undefined) continue
        places.push({ holder: holder as Place['holder'], key })
        next.push(map[key])
      }
    }
    if (isLast) return places
    holders = next
  }
  return []
}

function keysIn(holder: object, part: string): (string | number)[] {
  if (!Array.isArray(holder)) return [part]
  if (part === '*') return holder.map((_, index) => index)
  const match = /^\[(.+?)=(.*)\]$/.exec(part)
  if (match === null) return /^\d+$/.test(part) ? [Number(part)] : []
  return holder.flatMap((item, index) => (String((item as Record<string, unknown>)[match[1] ?? '']) === match[2] ? [index] : []))
}

/** Dots separate, but not inside of brackets or after a backslash. */
export function fieldPath(text: string): string[] {
  return (text.match(/\[[^\]]*\]|(?:\\.|[^.[\]])+/g) ?? []).map((part) => part.replaceAll('\\.', '.'))
}
