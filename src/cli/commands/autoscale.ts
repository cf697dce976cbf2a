/** `kubectl autoscale` */
import { parseQuantity } from '#api/meta/quantity.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, throwAll } from '#cli/cli-error.ts'
import { asTyped } from '#cli/create/create-object.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import type { Info } from '#cli/resources/info.ts'
import { apiVersionOf, resourcePath } from '#cli/session/resource-types.ts'
import { dryRunOf, dryRunSuffix, withTypedLastApplied } from '#cli/write-options.ts'

export async function autoscale(call: Call): Promise<void> {
  const { flags, host, session } = call
  const [min, max] = [flags.number('min'), flags.number('max')]
  if (max < 1) throw new CliError(`--max=MAXPODS is required and must be at least 1, max: ${max}`)
  if (max < min) throw new CliError(`--max=MAXPODS must be larger or equal to --min=MINPODS, max: ${max}, min: ${min}`)
  const metrics = metricsOf(call)
  const { infos, errors } = await findInfos(call)
  if (infos.length === 0) throw new CliError('no objects passed to autoscale')
  const dryRun = dryRunOf(call)
  const printer = await resultPrinter(call, 'autoscaled', dryRunSuffix(dryRun))
  for (const info of infos) {
    try {
      if (!info.type.subresources.includes('scale')) throw new CliError(`cannot autoscale a ${info.type.kind}: no scale subresource`)
      let object = asTyped(autoscalerOf(call, info, metrics, min, max))
      if (flags.isOn('save-config')) object = withTypedLastApplied(object)
      if (dryRun !== 'client') {
        const rest = await session.rest
        const query = { fieldManager: flags.text('field-manager'), dryRun: dryRun === 'server' ? 'All' : undefined }
        object = await rest.json<ApiObject>({
          method: 'POST',
          path: resourcePath({ group: 'autoscaling', version: 'v2', plural: 'horizontalpodautoscalers' }, info.namespace),
          query,
          body: object,
        })
      }
      host.write(printer(object))
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

function autoscalerOf({ flags }: Call, info: Info, metrics: readonly object[], min: number, max: number): ApiObject {
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: flags.text('name') || info.name, namespace: info.namespace },
    spec: {
      scaleTargetRef: { apiVersion: apiVersionOf(info.type), kind: info.type.kind, name: info.name },
      ...(min > 0 ? { minReplicas: min } : {}),
      maxReplicas: max,
      ...(metrics.length > 0 ? { metrics } : {}),
    },
  }
}

function metricsOf({ flags }: Call): object[] {
  return (['cpu', 'memory'] as const).flatMap((name) => {
    const text = flags.text(name).trim()
    if (text === '') return []
    return [{ type: 'Resource', resource: { name, target: targetOf(name, text) } }]
  })
}

/** `80%` is a part of what is asked for, `500m` an amount. */
function targetOf(name: string, text: string): object {
  if (text.endsWith('%')) {
    const percent = Number(text.slice(0, -1))
    if (!Number.isInteger(percent) || text === '%') throw new CliError(`invalid percentage value: ${text.slice(0, -1)}`)
    return { type: 'Utilization', averageUtilization: percent }
  }
  if (name === 'cpu' && /^\d+$/.test(text)) return { type: 'Utilization', averageUtilization: Number(text) }
  try {
    return { type: 'AverageValue', averageValue: String(parseQuantity(text)) }
  } catch {
    throw new CliError(`invalid resource ${name} value: ${text}`)
  }
}
