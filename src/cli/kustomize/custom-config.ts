/** `configurations` and `crds`: what users say of the fields of their own kinds. */
import { resolve } from 'node:path'
import { parseJson } from '#api/codec/parse-json.ts'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { CliError } from '#cli/cli-error.ts'
import type { Host } from '#cli/host.ts'
import type { FieldSpec } from './field-spec.ts'
import type { Kustomization } from './kustomization.ts'
import { mergedConfig, type NameReference, type TransformerConfig } from './transformer-config.ts'

export async function withCustomConfig(
  host: Host,
  directory: string,
  { configurations = [], crds = [] }: Kustomization,
  config: TransformerConfig,
): Promise<TransformerConfig> {
  let result = config
  for (const path of configurations) result = mergedConfig(result, await documentAt<Partial<TransformerConfig>>(host, directory, path))
  for (const path of crds) result = mergedConfig(result, configOfDefinitions(await documentAt<Definitions>(host, directory, path)))
  return result
}

async function documentAt<T>(host: Host, directory: string, path: string): Promise<T> {
  const absolute = resolve(directory, path)
  const text = await host.files.readText(absolute).catch(() => {
    throw new CliError(`loading CRDs [${path}]: evalsymlink failure on '${absolute}' : lstat ${absolute}: no such file or directory`)
  })
  return (text.startsWith('{') ? parseJson(text) : (readYamlValues(text)[0]?.value ?? {})) as T
}

type Property = { $ref?: string } & Record<`x-kubernetes-${string}`, string>
type Definition = { properties?: Record<string, Property> }
type Definitions = Record<string, { Schema?: Definition; schema?: Definition }>

/** Each kind among them tells by `x-kubernetes-…` what its fields are. */
function configOfDefinitions(definitions: Definitions): Partial<TransformerConfig> {
  const config = {
    commonAnnotations: [] as FieldSpec[],
    commonLabels: [] as FieldSpec[],
    namePrefix: [] as FieldSpec[],
    nameReference: [] as NameReference[],
  }
  const propertiesOf = (name: string) => (definitions[name]?.Schema ?? definitions[name]?.schema)?.properties ?? {}

  const read = (kind: string, typeName: string, path: readonly string[], open: ReadonlySet<string>): void => {
    for (const [name, property] of Object.entries(propertiesOf(typeName))) {
      const spec: FieldSpec = { kind, path: [...path, name].join('/') }
      if ('x-kubernetes-annotation' in property) config.commonAnnotations.push(spec)
      if ('x-kubernetes-label-selector' in property) config.commonLabels.push(spec)
      if ('x-kubernetes-identity' in property) config.namePrefix.push(spec)
      const [version, referred] = [property['x-kubernetes-object-ref-api-version'], property['x-kubernetes-object-ref-kind']]
      if (version !== undefined && referred !== undefined)
        config.nameReference.push({
          kind: referred,
          version,
          fieldSpecs: [{ kind, path: `${spec.path}/${property['x-kubernetes-object-ref-name-key'] ?? 'name'}` }],
        })
      const { $ref } = property
      if ($ref !== undefined && !open.has($ref)) read(kind, $ref, [...path, name], new Set([...open, $ref]))
    }
  }
  for (const typeName of Object.keys(definitions)) {
    const properties = propertiesOf(typeName)
    if (!('kind' in properties && 'apiVersion' in properties && 'metadata' in properties)) continue
    read(typeName.slice(typeName.lastIndexOf('.') + 1), typeName, [], new Set([typeName]))
  }
  return config
}
