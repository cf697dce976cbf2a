/** `kubectl run` */

import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, usageError } from '#cli/cli-error.ts'
import { asTyped, postGenerated } from '#cli/create/create-object.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { resourcePath, singularText } from '#cli/session/resource-types.ts'
import { dryRunOf, dryRunSuffix, withTypedLastApplied } from '#cli/write-options.ts'
import { labelPairs, overridden } from './expose.ts'
import type { Generated } from './run-generators.ts'

export const imageFormat =
  /^(?:[a-zA-Z0-9][-.a-zA-Z0-9]*(?::\d+)?\/)?[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*(?::[\w][\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$/

export async function run(call: Call): Promise<void> {
  const { flags, host, args, argsBeforeDash } = call
  const [name] = args
  if (name === undefined || argsBeforeDash === 0) throw usageError('run', 'NAME is required for run')
  if (flags.durationMs('pod-running-timeout') <= 0) throw usageError('run', '--pod-running-timeout must be higher than zero')
  const image = flags.text('image')
  if (image === '') throw new CliError('--image is required')
  if (!imageFormat.test(image)) throw new CliError(`Invalid image name ${JSON.stringify(image)}: invalid reference format`)
  const isInteractive = flags.isOn('stdin')
  if (flags.isOn('tty') && !isInteractive) throw usageError('run', '-i/--stdin is required for containers with -t/--tty=true')
  if (flags.isOn('expose') && flags.text('port') === '') throw usageError('run', '--port must be set when exposing a service')
  const restartPolicy = flags.text('restart') || 'Always'
  if (!['Always', 'OnFailure', 'Never'].includes(restartPolicy)) throw usageError('run', `invalid restart policy: ${restartPolicy}`)
  const attaches = flags.isSet('attach') ? flags.isOn('attach') : flags.isOn('tty') || isInteractive
  if (!attaches && flags.isOn('rm')) throw usageError('run', '--rm should only be used for attached containers')
  const dryRun = dryRunOf(call)
  if (attaches && dryRun !== 'none')
    throw usageError('run', "--dry-run=[server|client] can't be used with attached containers options (--attach, --stdin, or --tty)")
  const policy = flags.text('image-pull-policy')
  if (!['', 'Always', 'IfNotPresent', 'Never'].includes(policy)) throw usageError('run', `invalid image pull policy: ${policy}`)

  const printer = await resultPrinter(call, 'created', dryRunSuffix(dryRun))
  const generated = await wanted(call, podOf(call, name, restartPolicy))
  const workload = await made(call, generated.type, await overridden(call, generated.object))
  const objects = [{ type: generated.type, object: workload }]
  if (flags.isOn('expose')) objects.push({ type: services, object: await made(call, services, await serviceOf(call, name)) })
  if (attaches) {
    const { runAttached } = await import('#cli/streams/run-attached.ts')
    try {
      return await runAttached(call, workload)
    } finally {
      if (flags.isOn('rm')) await removeAll(call, objects)
    }
  }
  if (flags.isOn('quiet') && flags.text('output') === '') return
  // A service is told of first, though it is made last.
  const isYaml = dryRun !== 'none' && flags.text('output') === 'yaml'
  for (const { object } of objects.toReversed()) host.write(printer(object) + (object !== workload && isYaml ? '---\n' : ''))
}

const pods = { group: '', version: 'v1', plural: 'pods' }
const services = { group: '', version: 'v1', plural: 'services' }

/** A pod, or what the generators of old made around it. */
async function wanted(call: Call, pod: ApiObject): Promise<Generated> {
  const { wantsGenerator, generatorName, generatedWorkload, podGenerator, podSpecOf } = await import('./run-generators.ts')
  if (!wantsGenerator(call)) return { type: pods, object: pod }
  const generator = generatorName(call)
  if (generator === podGenerator) return { type: pods, object: { ...pod, spec: podSpecOf(call, pod) } }
  call.host.complain(
    `kubectl run --generator=${generator} is DEPRECATED and will be removed in a future version. Use kubectl run --generator=${podGenerator} or kubectl create instead.\n`,
  )
  return generatedWorkload(call, generator, pod)
}

function podOf(call: Call, name: string, restartPolicy: string): ApiObject {
  const { flags, args } = call
  const labels = labelsOf(call, name)
  const wrong = flags.list('annotations').find((pair) => !pair.includes('='))
  if (wrong !== undefined) throw new CliError(`invalid annotations format: ${wrong}`)
  const annotations = Object.fromEntries(flags.list('annotations').map((pair) => splitAt(pair, '='))) as Record<string, string>
  const words = args.slice(1)
  const port = flags.text('port')
  const container = {
    name,
    image: flags.text('image'),
    ...(words.length === 0 ? {} : flags.isOn('command') ? { command: words } : { args: words }),
    ...defined({ ports: port === '' ? undefined : [{ containerPort: wholePort(port) }] }),
    ...omitEmpty({ env: flags.list('env').map(variable), imagePullPolicy: flags.text('image-pull-policy') }),
    ...(flags.isOn('stdin') ? { stdin: true, ...defined({ stdinOnce: flags.isOn('leave-stdin-open') ? undefined : true }) } : {}),
    ...omitEmpty({ tty: flags.isOn('tty') }),
    ...defined({ securityContext: flags.isOn('privileged') ? { privileged: true } : undefined }),
  }
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, labels, ...omitEmpty({ annotations }) },
    spec: { containers: [container], restartPolicy, dnsPolicy: 'ClusterFirst' },
  }
}

function variable(text: string): { name: string; value: string } {
  const [name, value] = splitAt(text, '=')
  if (value === undefined || name === '') throw new CliError(`invalid env: ${text}`)
  return { name, value }
}

function labelsOf({ flags }: Call, name: string): Record<string, string> {
  const text = flags.text('labels')
  return text === '' ? { run: name } : labelPairs(text)
}

async function serviceOf(call: Call, name: string): Promise<ApiObject> {
  const { servicePortName } = await import('./run-generators.ts')
  const port = Number(call.flags.text('port'))
  const spec = { ports: [{ ...servicePortName(call), protocol: 'TCP', port, targetPort: port }], selector: labelsOf(call, name) }
  const labels = call.flags.text('labels') === '' ? {} : labelsOf(call, name)
  return overridden(
    call,
    { kind: 'Service', apiVersion: 'v1', metadata: { name, ...omitEmpty({ labels }) }, spec },
    call.flags.text('service-overrides'),
  )
}

async function made(call: Call, type: Generated['type'], plain: ApiObject): Promise<ApiObject> {
  const { flags, session } = call
  const dryRun = dryRunOf(call)
  const { namespace, isNamespaceGiven } = await session.context
  let object = asTyped(plain)
  if (isNamespaceGiven && dryRun === 'client') object.metadata = { ...object.metadata, namespace }
  if (flags.isOn('save-config')) object = withTypedLastApplied(object)
  if (dryRun === 'client') return asTyped(object)
  return postGenerated(call, type.plural, namespace, object)
}

async function removeAll({ host, session }: Call, objects: readonly Generated[]): Promise<void> {
  const rest = await session.rest
  for (const { type, object } of objects) {
    const { kind = '', metadata } = object
    await rest.json({
      method: 'DELETE',
      path: resourcePath(type, metadata?.namespace ?? '', metadata?.name ?? ''),
      body: { propagationPolicy: 'Background' },
    })
    host.write(
      `${singularText({ kind, group: type.group })} ${JSON.stringify(metadata?.name)} deleted from ${metadata?.namespace} namespace\n`,
    )
  }
}

function wholePort(text: string): number {
  if (!/^[-+]?\d+$/.test(text)) throw new CliError(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`)
  return Number(text)
}
