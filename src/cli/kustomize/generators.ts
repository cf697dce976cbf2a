/** Config maps and secrets that are made by a kustomization, with a hash of their content in the name. */

import { basename, resolve } from 'node:path'
import { defined } from '#base/defined.ts'
import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { withHash } from '#cli/create/configuration.ts'
import type { Host } from '#cli/host.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import type { GeneratorEntry, GeneratorOptions, Kustomization } from './kustomization.ts'
import { type Item, itemOf } from './references.ts'

export async function generated(
  host: Host,
  directory: string,
  { configMapGenerator = [], secretGenerator = [], generatorOptions = {} }: Kustomization,
  existing: Item[],
): Promise<Item[]> {
  const made: Item[] = []
  for (const [kind, entries] of [
    ['ConfigMap', configMapGenerator],
    ['Secret', secretGenerator],
  ] as const) {
    for (const entry of entries) {
      const data = await dataOf(host, directory, entry)
      const { behavior = 'create' } = entry
      if (behavior !== 'create') {
        const target = existing.find((item) => item.kind === kind && item.formerNames.includes(entry.name))
        if (target === undefined) throw new CliError(`id matches 0 resources: ${kind} ${entry.name}, cannot ${behavior}`)
        const before = behavior === 'merge' ? decoded(target.object, kind) : {}
        existing.splice(existing.indexOf(target), 1)
        made.push({
          ...named(kind, entry, { ...before, ...data }, merged(generatorOptions, entry.options)),
          formerNames: [...target.formerNames, entry.name],
        })
      } else made.push(named(kind, entry, data, merged(generatorOptions, entry.options)))
    }
  }
  return made
}

const merged = (one: GeneratorOptions, other: GeneratorOptions = {}): GeneratorOptions => ({
  ...one,
  ...other,
  labels: { ...one.labels, ...other.labels },
  annotations: { ...one.annotations, ...other.annotations },
})

function decoded(object: ApiObject, kind: string): Record<string, string> {
  const data = (object['data'] ?? {}) as Record<string, string>
  return kind === 'ConfigMap'
    ? data
    : Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))
}

function named(
  kind: 'ConfigMap' | 'Secret',
  { name, namespace, type = 'Opaque' }: GeneratorEntry,
  data: Record<string, string>,
  { labels = {}, annotations = {}, disableNameSuffixHash = false, immutable = false }: GeneratorOptions,
): Item {
  const encoded =
    kind === 'ConfigMap'
      ? data
      : Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))
  const object: ApiObject = {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      ...defined({ namespace }),
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    },
    ...(Object.keys(encoded).length > 0 ? { data: encoded } : {}),
    ...(kind === 'Secret' ? { type } : {}),
    ...(immutable ? { immutable } : {}),
  }
  return { ...itemOf(object), needsHash: !disableNameSuffixHash }
}

/** The object under its last name. */
export function withContentHash(item: Item): Item {
  if (!item.needsHash) return item
  const { kind, data, type } = item.object as { kind: string; data?: Record<string, string>; type?: string }
  const content = data !== undefined && Object.keys(data).length > 0 ? data : ''
  const object = withHash(item.object, kind === 'ConfigMap' ? { data: content, kind, name: '' } : { data: content, kind, name: '', type })
  return { ...item, object, formerNames: [...item.formerNames, item.object.metadata?.name ?? ''] }
}

async function dataOf(
  { files }: Host,
  directory: string,
  { literals = [], files: sources = [], envs = [], env }: GeneratorEntry,
): Promise<Record<string, string>> {
  const data: Record<string, string> = {}
  for (const path of [...envs, ...(env === undefined ? [] : [env])]) {
    for (const line of (await files.readText(resolve(directory, path))).split(/\r?\n/)) {
      if (line.trim() === '' || line.trimStart().startsWith('#')) continue
      const [key, value = ''] = splitAt(line.trimStart(), '=')
      data[key] = value
    }
  }
  for (const literal of literals) {
    const [key, value] = splitAt(literal, '=')
    if (value === undefined) throw new CliError(`invalid literal source ${literal}, expected key=value`)
    data[key] = /^(["']).*\1$/s.test(value) ? value.slice(1, -1) : value
  }
  for (const source of sources) {
    const [first, second] = splitAt(source, '=')
    const path = second ?? first
    data[second === undefined ? basename(path) : first] = await files.readText(resolve(directory, path))
  }
  return data
}
