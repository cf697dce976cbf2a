/** `kubectl kustomize` */
import { join } from 'node:path'
import { yamlText } from '#api/codec/yaml.ts'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { buildKustomization } from '#cli/kustomize/build.ts'
import { fileErrorText } from '#cli/session/file-error-text.ts'

export async function kustomize({ args, flags, host }: Call): Promise<void> {
  if (args.length > 1) throw new CliError('specify one path to kustomization.yaml')
  const restrictor = flags.text('load-restrictor')
  if (restrictor !== '' && !loadRestrictors.includes(restrictor))
    throw new CliError(`illegal flag value --load-restrictor ${restrictor}; legal values: [${loadRestrictors.join(' ')}]`)
  const reorder = flags.text('reorder')
  if (!reorders.includes(reorder)) throw new CliError(`illegal flag value --reorder ${reorder}; legal values: [${reorders.join(' ')}]`)
  if (args[0] === '') throw new CliError('must build at directory: directory path cannot be empty')
  const text = await buildKustomization(host, args[0] ?? '.', {
    ...(flags.isSet('reorder') ? { order: reorder === 'none' ? 'fifo' : 'legacy' } : {}),
    isLabelled: flags.isOn('enable-managedby-label') || host.environment['KUSTOMIZE_ENABLE_MANAGEDBY_LABEL'] === 'on',
    readsAnywhere: restrictor === 'LoadRestrictionsNone',
    helm: {
      isEnabled: flags.isOn('enable-helm'),
      command: flags.text('helm-command') || 'helm',
      kubeVersion: flags.text('helm-kube-version'),
      apiVersions: flags.list('helm-api-versions'),
      isDebug: flags.isOn('helm-debug'),
    },
  })
  const path = flags.text('output')
  if (path === '') host.write(text)
  else if ((await host.files.statTarget(path))?.kind === 'directory') await writeEach(host, path, text)
  else await written(host, path, text)
}

const reorders = ['legacy', 'none']

async function written({ files }: Call['host'], path: string, text: string): Promise<void> {
  try {
    await files.write(path, text, { mode: 0o644 })
  } catch (error) {
    // What fails may be a draft beside it: the user named this one.
    throw new CliError(fileErrorText(Object.assign(error as Error, { path })))
  }
}

const loadRestrictors = ['LoadRestrictionsRootOnly', 'LoadRestrictionsNone']

/** A file for each object; its namespace is in the name where there are several. */
async function writeEach(host: Call['host'], directory: string, text: string): Promise<void> {
  const objects = readYamlValues(text).map(({ value }) => value as ApiObject)
  const namespaces = new Set(objects.map(({ metadata }) => metadata?.namespace ?? ''))
  for (const object of objects) {
    const { apiVersion = '', kind = '', metadata } = object
    const place = namespaces.size > 1 && metadata?.namespace ? `${metadata.namespace}_` : ''
    const name = `${place}${apiVersion.replace('/', '_')}_${kind}_${metadata?.name ?? ''}.yaml`.toLowerCase()
    await host.files.write(join(directory, name), yamlText(object), { mode: 0o644 })
  }
}
