/** `kubectl run` */
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, usageError } from '#cli/cli-error.ts'
import { asTyped } from '#cli/create/create-object.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { dryRunOf, dryRunSuffix, withTypedLastApplied } from '#cli/write-options.ts'
import { overridden } from './expose.ts'

const imageFormat =
  /^(?:[a-zA-Z0-9][-.a-zA-Z0-9]*(?::\d+)?\/)?[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*(?::[\w][\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$/

export async function run(call: Call): Promise<void> {
  const { flags, host, args, argsBeforeDash } = call
  const [name] = args
  if (name === undefined || argsBeforeDash === 0) throw usageError('run', 'NAME is required for run')
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
  const pod = await made(call, 'pods', await overridden(call, podOf(call, name, restartPolicy)))
  const objects = [pod]
  if (flags.isOn('expose')) objects.push(await made(call, 'services', serviceOf(call, name)))
  if (attaches) {
    const { runAttached } = await import('#cli/streams/run-attached.ts')
    try {
      return await runAttached(call, pod)
    } finally {
      if (flags.isOn('rm')) await removeAll(call, objects)
    }
  }
  if (flags.isOn('quiet') && flags.text('output') === '') return
  // A service is told of first, though it is made last.
  const isYaml = dryRun !== 'none' && flags.text('output') === 'yaml'
  for (const object of objects.toReversed()) host.write(printer(object) + (object !== pod && isYaml ? '---\n' : ''))
}

function podOf(call: Call, name: string, restartPolicy: string): ApiObject {
  const { flags, args } = call
  const labels = labelsOf(call, name)
  const annotations = Object.fromEntries(flags.list('annotations').map((pair) => splitAt(pair, '='))) as Record<string, string>
  const words = args.slice(1)
  const port = flags.text('port')
  const container = {
    name,
    image: flags.text('image'),
    ...(words.length === 0 ? {} : flags.isOn('command') ? { command: words } : { args: words }),
    ...(port === '' ? {} : { ports: [{ containerPort: Number(port) }] }),
    ...(flags.list('env').length === 0 ? {} : { env: flags.list('env').map(variable) }),
    ...(flags.text('image-pull-policy') === '' ? {} : { imagePullPolicy: flags.text('image-pull-policy') }),
    ...(flags.isOn('stdin') ? { stdin: true, ...(flags.isOn('leave-stdin-open') ? {} : { stdinOnce: true }) } : {}),
    ...(flags.isOn('tty') ? { tty: true } : {}),
    ...(flags.isOn('privileged') ? { securityContext: { privileged: true } } : {}),
  }
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, labels, ...(Object.keys(annotations).length > 0 ? { annotations } : {}) },
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
  return text === '' ? { run: name } : (Object.fromEntries(text.split(',').map((pair) => splitAt(pair, '='))) as Record<string, string>)
}

function serviceOf(call: Call, name: string): ApiObject {
  const port = Number(call.flags.text('port'))
  const selector = labelsOf(call, name)
  return { kind: 'Service', apiVersion: 'v1', metadata: { name }, spec: { ports: [{ protocol: 'TCP', port, targetPort: port }], selector } }
}

async function made(call: Call, plural: string, plain: ApiObject): Promise<ApiObject> {
  const { flags, session } = call
  const dryRun = dryRunOf(call)
  const { namespace, isNamespaceGiven } = await session.context
  let object = asTyped(plain)
  if (isNamespaceGiven && dryRun === 'client') object.metadata = { ...object.metadata, namespace }
  if (flags.isOn('save-config')) object = withTypedLastApplied(object)
  if (dryRun === 'client') return asTyped(object)
  const rest = await session.rest
  const query = { fieldManager: flags.text('field-manager'), dryRun: dryRun === 'server' ? 'All' : undefined }
  return rest.json<ApiObject>({ method: 'POST', path: resourcePath({ group: '', version: 'v1', plural }, namespace), query, body: object })
}

async function removeAll({ host, session }: Call, objects: readonly ApiObject[]): Promise<void> {
  const rest = await session.rest
  for (const { kind = '', metadata } of objects) {
    const plural = `${kind.toLowerCase()}s`
    await rest.json({
      method: 'DELETE',
      path: resourcePath({ group: '', version: 'v1', plural }, metadata?.namespace ?? '', metadata?.name ?? ''),
      body: { propagationPolicy: 'Background' },
    })
    host.write(`${kind.toLowerCase()} ${JSON.stringify(metadata?.name)} deleted from ${metadata?.namespace} namespace\n`)
  }
}
