/** The file `kustomization.yaml` of a directory. */
import { join } from 'node:path'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { CliError } from '#cli/cli-error.ts'
import type { Host } from '#cli/host.ts'
import type { Kustomization } from './kustomization.ts'

const names = ['kustomization.yaml', 'kustomization.yml', 'Kustomization']

const fields = new Set(
  'apiVersion kind metadata openapi namePrefix nameSuffix namespace commonLabels labels commonAnnotations patchesStrategicMerge patchesJson6902 patches images imageTags replacements replicas vars sortOptions resources components crds bases configMapGenerator secretGenerator helmGlobals helmCharts helmChartInflationGenerator generatorOptions configurations generators transformers validators buildMetadata'
    .split(' ')
    .map((name) => name.toLowerCase()),
)

const formerFields: readonly [field: keyof Kustomization, successor: string, isExperimental?: boolean][] = [
  ['bases', 'resources'],
  ['commonLabels', 'labels'],
  ['imageTags', 'images'],
  ['patchesJson6902', 'patches'],
  ['patchesStrategicMerge', 'patches'],
  ['vars', 'replacements', true],
]

export async function readKustomization(host: Host, directory: string, shown: string): Promise<Kustomization> {
  const found: string[] = []
  for (const name of names) if ((await host.files.statTarget(join(directory, name)))?.kind === 'file') found.push(name)
  const [name] = found
  if (found.length > 1) throw new CliError(`Found multiple kustomization files under: ${directory}\n`)
  if (name === undefined) {
    if ((await host.files.statTarget(directory)) === undefined)
      throw new CliError(
        `must build at directory: not a valid directory: evalsymlink failure on '${shown}' : lstat ${directory}: no such file or directory`,
      )
    if ((await host.files.statTarget(directory))?.kind === 'file')
      throw new CliError(`must build at directory: '${shown}': file is not directory`)
    throw new CliError(`unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '${directory}'`)
  }
  const [first] = readYamlValues(await host.files.readText(join(directory, name)))
  const kustomization = (first?.value ?? {}) as Kustomization
  check(kustomization, directory)
  for (const [field, successor, isExperimental = false] of formerFields)
    if (kustomization[field] !== undefined)
      host.complain(
        `# Warning: '${field}' is deprecated. Please use '${successor}' instead. ${isExperimental ? '[EXPERIMENTAL] ' : ''}Run 'kustomize edit fix' to update your Kustomization automatically.\n`,
      )
  return kustomization
}

function check(kustomization: Kustomization, directory: string): void {
  for (const name of Object.keys(kustomization))
    if (!fields.has(name.toLowerCase())) throw new CliError(`invalid Kustomization: json: unknown field "${name}"`)
  const { apiVersion, kind, ...rest } = kustomization
  if (Object.keys(rest).length === 0) throw new CliError('kustomization.yaml is empty')
  const version = kind === 'Component' ? 'kustomize.config.k8s.io/v1alpha1' : 'kustomize.config.k8s.io/v1beta1'
  const wrong = [
    ...(kind !== undefined && kind !== '' && kind !== 'Kustomization' && kind !== 'Component'
      ? ['kind should be Kustomization or Component']
      : []),
    ...(apiVersion !== undefined && apiVersion !== '' && apiVersion !== version
      ? [`apiVersion for ${kind ?? 'Kustomization'} should be ${version}`]
      : []),
  ]
  if (wrong.length > 0) throw new CliError(`Failed to read kustomization file under ${directory}:\n${wrong.join('\n')}`)
}
