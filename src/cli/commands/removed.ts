/** Commands that kubectl has had once: `stop`, `run-container`. */
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, usageError } from '#cli/cli-error.ts'
import { asTyped } from '#cli/create/create-object.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { infoPath } from '#cli/resources/info.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { resourcePath, singularText } from '#cli/session/resource-types.ts'
import { dryRunOf, dryRunSuffix } from '#cli/write-options.ts'

/** Scales down what has replicas, then deletes it. */
export async function stop(call: Call): Promise<void> {
  const { flags, host, session } = call
  const rest = await session.rest
  const { infos } = await findInfos(call)
  const grace = flags.number('grace-period')
  const limitMs = flags.durationMs('timeout') || 300_000
  for (const info of infos) {
    if (info.type.subresources.includes('scale')) {
      await rest.json({
        method: 'PATCH',
        path: infoPath(info, 'scale'),
        contentType: 'application/merge-patch+json',
        body: { spec: { replicas: 0 } },
      })
      const untilMs = host.clock.monotonic() + limitMs
      for (;;) {
        const { status } = await rest.json<{ status: { replicas?: number } }>({ path: infoPath(info, 'scale') })
        if ((status.replicas ?? 0) === 0) break
        if (host.clock.monotonic() > untilMs) throw new CliError(`timed out waiting for the pods of ${info.name} to end`)
        await host.clock.sleep(500, host.interrupted)
      }
    }
    try {
      await rest.json({
        method: 'DELETE',
        path: infoPath(info),
        body: { propagationPolicy: 'Background', ...defined({ gracePeriodSeconds: grace >= 0 ? grace : undefined }) },
      })
      host.write(
        flags.text('output') === 'name'
          ? `${singularText(info.type)}/${info.name}\n`
          : `${singularText(info.type)} ${JSON.stringify(info.name)} deleted\n`,
      )
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound && flags.isOn('ignore-not-found'))) throw error
    }
  }
}

/** A replication controller of an image, as the first `run` made it. */
export async function runContainer(call: Call): Promise<void> {
  const { args, flags, host, session } = call
  const [name] = args
  if (name === undefined) throw usageError('run-container', 'NAME is required for run')
  if (flags.text('image') === '') throw new CliError('--image is required')
  const dryRun = dryRunOf(call)
  const labels =
    flags.text('labels') === ''
      ? { run: name }
      : (Object.fromEntries(
          flags
            .text('labels')
            .split(',')
            .map((pair) => splitAt(pair, '=')),
        ) as Record<string, string>)
  const words = args.slice(1)
  const port = flags.text('port')
  const container = {
    name,
    image: flags.text('image'),
    ...(words.length === 0 ? {} : flags.isOn('command') ? { command: words } : { args: words }),
    ...defined({ ports: port === '' ? undefined : [{ containerPort: Number(port) }] }),
    ...omitEmpty({ env: flags.list('env').map((pair) => ({ name: splitAt(pair, '=')[0], value: splitAt(pair, '=')[1] ?? '' })) }),
  }
  let object = asTyped({
    kind: 'ReplicationController',
    apiVersion: 'v1',
    metadata: { name, labels },
    spec: { replicas: flags.number('replicas'), selector: labels, template: { metadata: { labels }, spec: { containers: [container] } } },
  })
  if (dryRun !== 'client') {
    const rest = await session.rest
    object = await rest.json<ApiObject>({
      method: 'POST',
      path: resourcePath({ group: '', version: 'v1', plural: 'replicationcontrollers' }, await session.namespace()),
      query: { dryRun: dryRun === 'server' ? 'All' : undefined },
      body: object,
    })
  }
  host.write((await resultPrinter(call, 'created', dryRunSuffix(dryRun)))(object))
}
