/** `kubectl scale` */
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { type Info, infoPath } from '#cli/resources/info.ts'
import { dryRunOf, dryRunSuffix } from '#cli/write-options.ts'

export async function scale(call: Call): Promise<void> {
  const { flags, host } = call
  const replicas = flags.number('replicas')
  if (replicas < 0) throw new CliError('The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0')
  if (flags.number('current-replicas') < -1) throw new CliError('The --current-replicas must specify an integer of -1 or greater')
  const { infos, errors } = await findInfos(call)
  if (infos.length > 1 && flags.text('resource-version') !== '') throw new CliError('cannot use --resource-version with multiple resources')
  if (infos.length === 0) throw new CliError('no objects passed to scale')
  const dryRun = dryRunOf(call)
  const printer = await resultPrinter(call, 'scaled', dryRunSuffix(dryRun))
  const limitMs = flags.durationMs('timeout')
  for (const info of infos) {
    try {
      if (dryRun !== 'client') await scaleOne(call, info, replicas, dryRun === 'server')
      if (limitMs > 0 && dryRun === 'none') await waitUntilScaled(call, info, replicas, limitMs)
      host.write(printer(info.object))
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

type Scale = ApiObject & { spec: { replicas?: number }; status: { replicas?: number } }

async function scaleOne(call: Call, info: Info, replicas: number, isServerDry: boolean): Promise<void> {
  const { flags, session } = call
  const rest = await session.rest
  const path = infoPath(info, 'scale')
  const [version, current] = [flags.text('resource-version'), flags.number('current-replicas')]
  const dryRun = isServerDry ? 'All' : undefined
  if (version === '' && current === -1) {
    await rest.json({ method: 'PATCH', path, contentType: 'application/merge-patch+json', query: { dryRun }, body: { spec: { replicas } } })
    return
  }
  for (let attempt = 1; ; attempt++) {
    const now = await rest.json<Scale>({ path })
    const count = now.spec.replicas ?? 0
    if (current !== -1 && count !== current) throw new CliError(`Expected replicas to be ${current}, was ${count}`)
    if (version !== '' && now.metadata?.resourceVersion !== version)
      throw new CliError(`Expected resource version to be ${version}, was ${now.metadata?.resourceVersion}`)
    try {
      await rest.json({ method: 'PUT', path, query: { dryRun }, body: { ...now, spec: { ...now.spec, replicas } } })
      return
    } catch (error) {
      if (!(error instanceof ApiError && error.isConflict) || attempt >= 10 || version !== '') throw error
      await call.host.clock.sleep(100)
    }
  }
}

async function waitUntilScaled(call: Call, info: Info, replicas: number, limitMs: number): Promise<void> {
  const { host, session } = call
  const rest = await session.rest
  const untilMs = host.clock.monotonic() + limitMs
  for (;;) {
    try {
      const { status } = await rest.json<Scale>({ path: infoPath(info, 'scale') })
      if ((status.replicas ?? 0) === replicas) return
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound)) throw error
      return
    }
    if (host.clock.monotonic() > untilMs) throw new CliError('timed out waiting for the condition')
    await host.clock.sleep(500, host.interrupted)
  }
}
