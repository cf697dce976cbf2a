/** Deployments, jobs and cron jobs out of flags. */
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { commandArguments, nameArgument } from './create-object.ts'

const unnamed = /[^a-z0-9-]/g

/** `registry/nginx:1.2` runs in a container called `nginx`. */
function containerName(image: string): string {
  const name = (image.split('/').at(-1) ?? '').split('@')[0]?.split(':')[0] ?? ''
  return name.toLowerCase().replace(unnamed, '')
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
    ...(command.length > 0 ? { command } : {}),
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
      spec: { template: { spec: { containers: [{ name, image, ...(command.length > 0 ? { command } : {}) }], restartPolicy: 'Never' } } },
    }
  const { selectResources } = await import('#cli/resources/select-resources.ts')
  const { resourcePath, apiVersionOf } = await import('#cli/session/resource-types.ts')
  const selection = await selectResources({ ...call, args: [from] }, { args: from.includes('/') ? [from] : ['cronjob', from] })
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
  if (item.type.plural !== 'cronjobs') throw new CliError('from must be an existing cronjob')
  const { metadata, spec } = cronJob.spec.jobTemplate
  return {
    ...object,
    metadata: {
      name,
      ...(metadata?.labels ? { labels: metadata.labels } : {}),
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
  const container = { name, image: flags.text('image'), ...(command.length > 0 ? { command } : {}) }
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
