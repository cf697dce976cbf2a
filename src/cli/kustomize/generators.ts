/** Config maps and secrets that are made by a kustomization, with a hash of their content in the name. */

import { isUtf8 } from 'node:buffer'
import { basename, resolve } from 'node:path'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { withHash } from '#cli/create/configuration.ts'
import type { Host } from '#cli/host.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { everyIdentity, type Item, identityOf, identityText, itemOf, rememberIdentity, sameIdentity } from './item.ts'
import type { GeneratorEntry, GeneratorOptions } from './kustomization.ts'

export type GeneratedKind = 'ConfigMap' | 'Secret'

/** The object of an entry, put among the others as its behaviour says. */
export async function generated(
  host: Host,
  directory: string,
  kind: GeneratedKind,
  entry: GeneratorEntry,
  items: readonly Item[],
): Promise<Item[]> {
  const made = named(kind, entry, await dataOf(host, directory, entry))
  const identity = identityOf(made)
  const matching = items.filter((item) => everyIdentity(item).some((each) => sameIdentity(each, identity)))
  const [old] = matching
  const { behavior = 'create' } = entry
  if (behavior === 'create' && old === undefined) return [...items, made]
  const text = identityText(identity)
  if (matching.length > 1) throw new CliError(`found multiple objects that could accept merge of ${text}`)
  if (old === undefined) throw new CliError(`id ${text} does not exist; cannot merge or replace`)
  if (behavior === 'create') throw new CliError(`id ${text} exists; can not use behavior: 'create', behavior must be merge or replace`)
  return items.map((item) => (item === old ? merged(old, made, behavior) : item))
}

/** Under the name that the old one has by now. */
function merged(old: Item, made: Item, behavior: 'replace' | 'merge'): Item {
  const { name, namespace } = old.object.metadata ?? {}
  const joined = (field: 'labels' | 'annotations') => {
    const both = { ...old.object.metadata?.[field], ...made.object.metadata?.[field] }
    return Object.keys(both).length === 0 ? undefined : both
  }
  const object: ApiObject = {
    ...made.object,
    metadata: { ...defined({ name, namespace, labels: joined('labels'), annotations: joined('annotations') }) },
  }
  if (behavior === 'merge')
    for (const field of ['data', 'binaryData']) {
      const both = { ...(old.object[field] as object | undefined), ...(made.object[field] as object | undefined) }
      if (Object.keys(both).length > 0) object[field] = both
    }
  return { ...old, object, needsHash: made.needsHash === true }
}

/** What the entry says goes before what the kustomization says of all. */
export const withOptions = (entry: GeneratorEntry, all: GeneratorOptions = {}): GeneratorEntry => ({
  ...entry,
  options: {
    ...entry.options,
    labels: { ...all.labels, ...entry.options?.labels },
    annotations: { ...all.annotations, ...entry.options?.annotations },
    disableNameSuffixHash: entry.options?.disableNameSuffixHash || all.disableNameSuffixHash || false,
    immutable: entry.options?.immutable || all.immutable || false,
  },
})

function named(
  kind: GeneratedKind,
  { name, namespace, type = 'Opaque', options = {} }: GeneratorEntry,
  data: Record<string, Buffer>,
): Item {
  const { labels = {}, annotations = {}, disableNameSuffixHash = false, immutable = false } = options
  const texts: Record<string, string> = {}
  const binaries: Record<string, string> = {}
  for (const [key, value] of Object.entries(data)) {
    if (kind === 'ConfigMap' && isUtf8(value)) texts[key] = value.toString()
    else if (kind === 'ConfigMap') binaries[key] = value.toString('base64')
    else texts[key] = value.toString('base64')
  }
  const object: ApiObject = {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      ...defined({ namespace }),
      ...defined({
        labels: Object.keys(labels).length > 0 ? labels : undefined,
        annotations: Object.keys(annotations).length > 0 ? annotations : undefined,
      }),
    },
    ...defined({
      data: Object.keys(texts).length > 0 ? texts : undefined,
      binaryData: Object.keys(binaries).length > 0 ? binaries : undefined,
      type: kind === 'Secret' ? type : undefined,
    }),
    ...omitEmpty({ immutable }),
  }
  return { ...itemOf(object), needsHash: !disableNameSuffixHash }
}

/** The object under its last name. */
export function addContentHash(item: Item): void {
  if (!item.needsHash) return
  const { kind, data, binaryData, type } = item.object as {
    kind: string
    data?: Record<string, string>
    binaryData?: Record<string, string>
    type?: string
  }
  const content = data !== undefined && Object.keys(data).length > 0 ? data : ''
  rememberIdentity(item)
  item.object = withHash(
    item.object,
    kind === 'ConfigMap' ? { ...defined({ binaryData }), data: content, kind, name: '' } : { data: content, kind, name: '', type },
  )
}

async function dataOf(
  { files }: Host,
  directory: string,
  { literals = [], files: sources = [], envs = [], env }: GeneratorEntry,
): Promise<Record<string, Buffer>> {
  const data: Record<string, Buffer> = {}
  const add = (key: string, value: Buffer | string) => {
    if (key in data) throw new CliError(`configmap or secret: cannot add key ${key}, another key by that name already exists`)
    data[key] = Buffer.from(value)
  }
  for (const path of [...envs, ...(env === undefined ? [] : [env])]) {
    for (const line of (await files.readText(resolve(directory, path))).split(/\r?\n/)) {
      if (line.trim() === '' || line.trimStart().startsWith('#')) continue
      const [key, value = ''] = splitAt(line.trimStart(), '=')
      add(key, value)
    }
  }
  for (const literal of literals) {
    const [key, value] = splitAt(literal, '=')
    if (value === undefined) throw new CliError(`invalid literal source ${literal}, expected key=value`)
    add(key, /^(["']).*\1$/s.test(value) ? value.slice(1, -1) : value)
  }
  for (const source of sources) {
    const [first, second] = splitAt(source, '=')
    const path = second ?? first
    add(second === undefined ? basename(path) : first, Buffer.from(await files.read(resolve(directory, path))))
  }
  return data
}
