/** Builds a kustomization: resources of files and of other kustomizations, then one change after another. */
import { isAbsolute, join, resolve } from 'node:path'
import { yamlText } from '#api/codec/yaml.ts'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import type { Host } from '#cli/host.ts'
import { generated, withContentHash } from './generators.ts'
import type { Kustomization } from './kustomization.ts'
import { legacyOrder } from './order.ts'
import { patched } from './patches.ts'
import { type Item, itemOf, withReferences } from './references.ts'
import { replaced } from './replacements.ts'
import { transformed } from './transformers.ts'

const names = ['kustomization.yaml', 'kustomization.yml', 'Kustomization']

/** The manifests, as one text. */
export async function buildKustomization(host: Host, directory: string): Promise<string> {
  const items = withReferences((await built(host, resolve(directory), directory, new Set())).map(withContentHash))
  return legacyOrder(items.map(({ object }) => object))
    .map((object) => yamlText(cleaned(object)))
    .join('---\n')
}

async function built(
  host: Host,
  directory: string,
  shown: string,
  open: ReadonlySet<string>,
  inherited: readonly Item[] = [],
): Promise<Item[]> {
  if (open.has(directory)) throw new CliError(`cycle detected: candidate root '${directory}' contains visited root '${directory}'`)
  const kustomization = await readKustomization(host, directory, shown)
  const inside = new Set([...open, directory])
  let items: Item[] = [...inherited]
  for (const path of [...(kustomization.resources ?? []), ...(kustomization.bases ?? [])])
    items.push(...(await resourcesAt(host, directory, path, inside)))
  items = [...items, ...(await generated(host, directory, kustomization, items))]
  for (const path of kustomization.components ?? []) items = await built(host, resolve(directory, path), path, inside, items)
  const seen = new Set<string>()
  for (const { object } of items) {
    const key = `${object.apiVersion}|${object.kind}|${object.metadata?.namespace ?? ''}|${object.metadata?.name}`
    if (seen.has(key))
      throw new CliError(
        `accumulating resources: may not add resource with an already registered id: ${object.kind}.${(object.apiVersion ?? '').replace('/', '.')}/${object.metadata?.name}.${object.metadata?.namespace ?? '[noNs]'}`,
      )
    seen.add(key)
  }
  items = await patched(host, directory, kustomization, items)
  items = transformed(kustomization, items)
  return replaced(host, directory, kustomization, items)
}

async function readKustomization(host: Host, directory: string, shown: string): Promise<Kustomization> {
  const found: string[] = []
  for (const name of names) if ((await host.files.statTarget(join(directory, name)))?.kind === 'file') found.push(name)
  const [name] = found
  if (found.length > 1) throw new CliError(`Found multiple kustomization files under: ${directory}`)
  if (name === undefined) {
    if ((await host.files.statTarget(directory)) === undefined)
      throw new CliError(
        `must build at directory: not a valid directory: evalsymlink failure on '${shown}' : lstat ${directory}: no such file or directory`,
      )
    throw new CliError(`unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '${directory}'`)
  }
  const [first] = readYamlValues(await host.files.readText(join(directory, name)))
  return (first?.value ?? {}) as Kustomization
}

async function resourcesAt(host: Host, directory: string, path: string, open: ReadonlySet<string>): Promise<Item[]> {
  if (/^https?:\/\//.test(path)) {
    using http = host.http({})
    const answer = await http.request({ url: path })
    if (answer.status !== 200)
      throw new CliError(
        `accumulating resources: accumulation err='accumulating resources from '${path}': URL is a git repository or answered ${answer.status}'`,
      )
    return parsed(await answer.text(64 << 20))
  }
  const absolute = isAbsolute(path) ? path : resolve(directory, path)
  const stat = await host.files.statTarget(absolute)
  if (stat === undefined)
    throw new CliError(
      `accumulating resources: accumulation err='accumulating resources from '${path}': evalsymlink failure on '${absolute}' : lstat ${absolute}: no such file or directory': must build at directory: not a valid directory: evalsymlink failure on '${absolute}' : lstat ${absolute}: no such file or directory`,
    )
  return stat.kind === 'directory' ? built(host, absolute, path, open) : parsed(await host.files.readText(absolute))
}

export function parsed(text: string): Item[] {
  return readYamlValues(text).flatMap(({ value }) => {
    const object = value as ApiObject
    const list = object.kind?.endsWith('List') && Array.isArray(object['items']) ? (object['items'] as ApiObject[]) : [object]
    return list.map(itemOf)
  })
}

/** Notes that are only for the build. */
function cleaned(object: ApiObject): ApiObject {
  const { annotations, ...metadata } = object.metadata ?? {}
  const kept = Object.fromEntries(
    Object.entries(annotations ?? {}).filter(
      ([key]) => !/^(?:internal\.)?config\.kubernetes\.io\/(?:index|path|local)/.test(key) && !key.startsWith('kustomize.config.k8s.io/'),
    ),
  )
  return {
    ...object,
    metadata: { ...metadata, ...(annotations !== undefined && Object.keys(kept).length > 0 ? { annotations: kept } : {}) },
  }
}
