/** Deployments, jobs and cron jobs out of flags. */
import { omitEmpty } from '#base/omit-empty.ts'
import { nameSuffix, systemRandom } from '#base/random.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { commandArguments, nameArgument } from './create-object.ts'

/** `registry/nginx:1.2` runs in a container called `nginx`; a name that had to be changed gets a suffix, so that two do not meet. */
function containerName(image: string): string {
  const name = (image.split('/').at(-1) ?? '').split('@')[0]?.split(':')[0] ?? ''
  return /[_.]/.test(name) ? `${name.replaceAll(/[_.]/g, '-')}-${nameSuffix(systemRandom)}` : name
}

export function deployment(call: Call): ApiObject {
  const name = nameArgument(call)
  const { flags } = call
  const images = flags.list('image')
  const command = commandArguments(call)
  if (images.length > 1 && command.length > 0) throw new CliError('cannot specify multiple --image options and command')
  const port = flags.number('port')
  const labels = { app: name }
  const containers = images.map((image) => ({
    name: containerName(image),
    image,
    ...omitEmpty({ command }),
  }))
  const [first] = containers
  if (port >= 0 && first !== undefined) Object.assign(first, { ports: [{ containerPort: port }] })
  return {
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    metadata: { name, labels },
    spec: {
      replicas: flags.number('replicas'),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  }
}

export async function job(call: Call): Promise<ApiObject> {
  const name = nameArgument(call)
  const { flags, session } = call
  const [image, from] = [flags.text('image'), flags.text('from')]
  const command = commandArguments(call)
  if ((image === '') === (from === '')) throw new CliError('either --image or --from must be specified')
  if (from !== '' && command.length > 0) throw new CliError('cannot specify --from and command')
  const object = { kind: 'Job', apiVersion: 'batch/v1', metadata: { name } }
  if (image !== '')
    return {
      ...object,
      spec: { template: { spec: { containers: [{ name, image, ...omitEmpty({ command }) }], restartPolicy: 'Never' } } },
    }
  const { selectResources } = await import('#cli/resources/select-resources.ts')
  const { resourcePath, apiVersionOf } = await import('#cli/session/resource-types.ts')
  const selection = await selectResources({ ...call, args: [from] }, { args: [from] })
  const item = selection.by === 'names' ? selection.items[0] : undefined
  if (item === undefined) throw new CliError('from must be an existing cronjob')
  const rest = await session.rest
  const cronJob = await rest.json<
    ApiObject & {
      spec: { jobTemplate: { metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }; spec: unknown } }
    }
  >({
    path: resourcePath(item.type, await session.namespace(), item.name),
  })
  if (item.type.plural !== 'cronjobs') throw new CliError(`unknown object type *${item.type.version}.${item.type.kind}`)
  const { metadata, spec } = cronJob.spec.jobTemplate
  return {
    ...object,
    metadata: {
      name,
      ...omitEmpty({ labels: metadata?.labels }),
      annotations: { 'cronjob.kubernetes.io/instantiate': 'manual', ...metadata?.annotations },
      ownerReferences: [
        {
          apiVersion: apiVersionOf(item.type),
          kind: item.type.kind,
          name: cronJob.metadata?.name ?? '',
          uid: cronJob.metadata?.uid ?? '',
          controller: true,
        },
      ],
    },
    spec,
  }
}

export function cronJob(call: Call): ApiObject {
  const name = nameArgument(call)
  const { flags } = call
  const command = commandArguments(call)
  const restartPolicy = flags.text('restart') || 'OnFailure'
  const container = { name, image: flags.text('image'), ...omitEmpty({ command }) }
  return {
    kind: 'CronJob',
    apiVersion: 'batch/v1',
    metadata: { name },
    spec: {
      schedule: flags.text('schedule'),
      jobTemplate: { metadata: { name }, spec: { template: { spec: { containers: [container], restartPolicy } } } },
    },
  }
}
