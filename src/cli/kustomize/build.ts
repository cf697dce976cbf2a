/** Builds a kustomization: resources of files and of other kustomizations, then one change after another. */

import { isAbsolute, resolve } from 'node:path'
import { yamlText } from '#api/codec/yaml.ts'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { defined } from '#base/defined.ts'
import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import type { Host } from '#cli/host.ts'
import { kustomizeVersion } from '#cli/kubectl-version.ts'
import { withCustomConfig } from './custom-config.ts'
import { addContentHash, generated, withOptions } from './generators.ts'
import type { HelmOptions } from './helm.ts'
import { type Item, itemOf } from './item.ts'
import type { Kustomization, VarEntry } from './kustomization.ts'
import { restrictedTo } from './load-restriction.ts'
import { builtInForms, formsOfOpenApi, type MergeForms } from './merge-form.ts'
import { ordered } from './order.ts'
import { pluginGenerated, pluginTransformed } from './plugins.ts'
import { readKustomization } from './read-kustomization.ts'
import { fixReferences } from './references.ts'
import { clonedRepository, fetchedManifest, insideOf, type RepositoryPlace, repositoryPlace } from './remote.ts'
import { transformed } from './transform.ts'
import { defaultConfig, mergedConfig, type TransformerConfig } from './transformer-config.ts'
import { addEntries, checkUnique } from './transformers.ts'
import { fillVariables } from './vars.ts'

export type BuildOptions = {
  helm?: HelmOptions
  readsAnywhere?: boolean
  /** For kustomizations that say nothing of it. */
  order?: 'fifo' | 'legacy'
  /** Whatever the kustomization says, objects are labelled as made by kustomize. */
  isLabelled?: boolean
}

/** The manifests, as one text. */
export async function buildKustomization(
  host: Host,
  directory: string,
  { helm = noHelm, readsAnywhere = false, order, isLabelled = false }: BuildOptions = {},
): Promise<string> {
  const building: Building = { host, helm, readsAnywhere, vars: [] }
  const { items: made, config, kustomization } = await rootBuild(building, directory)
  for (const item of made) addContentHash(item)
  fixReferences(made, config.nameReference)
  fillVariables(building.vars, made, config.varReference)
  if (order !== undefined && kustomization.sortOptions !== undefined)
    host.complain(
      `${logTime(host.clock.now())} Warning: Sorting order is set both in 'kustomization.yaml' ('sortOptions') and in a CLI flag ('--reorder'). Using the kustomization file over the CLI flag.\n`,
    )
  const items = ordered(made.filter(isForCluster), kustomization.sortOptions ?? { order: order ?? 'legacy' })
  if (isLabelled || kustomization.buildMetadata?.includes('managedByLabel'))
    addEntries(items, { 'app.kubernetes.io/managed-by': `kustomize-${kustomizeVersion}` }, [{ path: 'metadata/labels', create: true }])
  return items.map(({ object }) => yamlText(cleaned(object))).join('---\n')
}

/** As lines of Go's plain log begin. */
const logTime = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, 19).replaceAll('-', '/').replace('T', ' ')

const noHelm: HelmOptions = { isEnabled: false, command: 'helm', kubeVersion: '', apiVersions: [], isDebug: false }

/** What all parts of one build share. */
type Building = { host: Host; helm: HelmOptions; readsAnywhere: boolean; vars: VarEntry[]; forms?: MergeForms }

const readerOf = async ({ host, readsAnywhere }: Building, directory: string): Promise<Host> =>
  readsAnywhere ? host : restrictedTo(host, directory)

type Built = { items: Item[]; config: TransformerConfig; kustomization: Kustomization }

/** Some objects are only for tools that read the files. */
function isForCluster({ object }: Item): boolean {
  const note = (object.metadata?.annotations as Record<string, string> | undefined)?.['config.kubernetes.io/local-config']
  return note === undefined || note === 'false'
}

/** A directory, or a Git repository. */
async function rootBuild(building: Building, directory: string): Promise<Built> {
  const place = (await building.host.files.statTarget(directory)) === undefined ? repositoryPlace(directory) : undefined
  return place === undefined
    ? built(building, resolve(directory), directory, new Set())
    : fromRepository(building, place, directory, new Set())
}

async function fromRepository(building: Building, place: RepositoryPlace, shown: string, open: ReadonlySet<string>): Promise<Built> {
  const clone = await clonedRepository(building.host, place)
  try {
    return await built(building, insideOf(clone, place), shown, open)
  } finally {
    await building.host.files.remove(clone)
  }
}

async function built(
  building: Building,
  directory: string,
  shown: string,
  open: ReadonlySet<string>,
  parent?: { items: readonly Item[]; config: TransformerConfig },
): Promise<Built> {
  const host = await readerOf(building, directory)
  const kustomization = await readKustomization(building.host, directory, shown)
  checkKind(kustomization, directory, parent !== undefined)
  // The first one that is found counts for the whole build.
  if (kustomization.openapi?.path !== undefined)
    building.forms ??= formsOfOpenApi(await host.files.readText(resolve(directory, kustomization.openapi.path)))
  const inside = new Set([...open, directory])
  let config = parent?.config ?? defaultConfig()
  let items: Item[] = [...(parent?.items ?? [])]
  for (const path of [...(kustomization.resources ?? []), ...(kustomization.bases ?? [])]) {
    const found = await resourcesAt(building, directory, path, inside)
    items.push(...found.items)
    if (found.config !== undefined) config = mergedConfig(config, found.config)
    const absolute = resolve(directory, path)
    checkUnique(
      items,
      found.config === undefined
        ? `accumulating resources: merging resources from '${path}': `
        : `accumulating resources: accumulation err='accumulating resources from '${path}': '${absolute}' must resolve to a file': recursed merging from path '${absolute}': `,
    )
  }
  config = await withCustomConfig(host, directory, kustomization, config)
  for (const kind of ['ConfigMap', 'Secret'] as const)
    for (const entry of (kind === 'ConfigMap' ? kustomization.configMapGenerator : kustomization.secretGenerator) ?? [])
      items = await generated(host, directory, kind, withOptions(entry, kustomization.generatorOptions), items)
  for (const chart of kustomization.helmCharts ?? []) {
    const { chartManifests } = await import('./helm.ts')
    const made = parsed(await chartManifests(building.host, directory, chart, kustomization.helmGlobals ?? {}, building.helm))
    items.push(...made.map((item) => ({ ...item, isFromChart: true })))
  }
  const transforming = () => ({ host, directory, config, forms: building.forms ?? builtInForms })
  const plugins = (sources: readonly string[] = []) => pluginSettings(building, directory, sources, inside)
  items = await pluginGenerated(transforming(), await plugins(kustomization.generators), items)
  for (const path of kustomization.components ?? []) {
    const component = await built(building, resolve(directory, path), path, inside, { items, config })
    ;[items, config] = [component.items, component.config]
  }
  checkUnique(items)
  items = await transformed(transforming(), kustomization, items)
  items = await pluginTransformed(transforming(), await plugins(kustomization.transformers), items)
  await pluginTransformed(transforming(), await plugins(kustomization.validators), structuredClone(items))
  building.vars.push(...(kustomization.vars ?? []))
  return { items, config, kustomization }
}

function checkKind({ kind = 'Kustomization' }: Kustomization, directory: string, isComponent: boolean): void {
  if (isComponent && kind !== 'Component')
    throw new CliError(
      `accumulating components: accumulateDirectory: "expected kind 'Component' for path '${directory}' but got '${kind}'"`,
    )
}

/** Each is a file, a directory, or the settings themselves. */
async function pluginSettings(
  building: Building,
  directory: string,
  sources: readonly string[],
  open: ReadonlySet<string>,
): Promise<Item[]> {
  const items: Item[] = []
  for (const source of sources)
    items.push(...(source.includes('\n') ? parsed(source) : (await resourcesAt(building, directory, source, open)).items))
  return items
}

type Found = { items: Item[]; config?: TransformerConfig }

async function resourcesAt(building: Building, directory: string, path: string, open: ReadonlySet<string>): Promise<Found> {
  const { host } = building
  if (/^https?:\/\//.test(path)) {
    const text = await fetchedManifest(host, path)
    if (text !== undefined) return { items: parsed(text) }
  }
  const absolute = isAbsolute(path) ? path : resolve(directory, path)
  const stat = await host.files.statTarget(absolute)
  const place = stat === undefined ? repositoryPlace(path) : undefined
  if (place !== undefined) return fromRepository(building, place, path, open)
  if (stat === undefined)
    throw new CliError(
      `accumulating resources: accumulation err='accumulating resources from '${path}': evalsymlink failure on '${absolute}' : lstat ${absolute}: no such file or directory': must build at directory: not a valid directory: evalsymlink failure on '${absolute}' : lstat ${absolute}: no such file or directory`,
    )
  if (stat.kind === 'directory') return builtInside(building, absolute, path, open)
  const reader = await readerOf(building, directory)
  const text = await reader.files.readText(absolute).catch((error: unknown) => {
    if (!(error instanceof CliError)) throw error
    throw new CliError(
      `accumulating resources: accumulation err='accumulating resources from '${path}': ${error.message}': must build at directory: '${absolute}': file is not directory`,
    )
  })
  try {
    return { items: parsed(text) }
  } catch (error) {
    throw new CliError(
      `accumulating resources: accumulating resources from '${path}': MalformedYAMLError: ${(error as Error).message} in File: ${path}`,
    )
  }
}

/** What goes wrong inside is told with the way there. */
async function builtInside(building: Building, absolute: string, path: string, open: ReadonlySet<string>): Promise<Built> {
  const notOne = `accumulating resources: accumulation err='accumulating resources from '${path}': '${absolute}' must resolve to a file'`
  if (open.has(absolute)) throw new CliError(`${notOne}: cycle detected: candidate root '${absolute}' contains visited root '${absolute}'`)
  try {
    return await built(building, absolute, path, open)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    throw new CliError(`${notOne}: recursed accumulation of path '${absolute}': ${error.message}`)
  }
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
    Object.entries(annotations ?? {})
      .map(([key, value]) => [key, String(value)] as const)
      .filter(
        ([key]) =>
          !/^internal\.config\.kubernetes\.io\/|^config\.kubernetes\.io\/(?:index|path)$/.test(key) &&
          !key.startsWith('kustomize.config.k8s.io/'),
      ),
  )
  return {
    ...object,
    metadata: { ...metadata, ...defined({ annotations: annotations !== undefined && Object.keys(kept).length > 0 ? kept : undefined }) },
  }
}
