/** `kubectl autoscale` */

import { parseQuantity } from '#api/meta/quantity.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, throwAll } from '#cli/cli-error.ts'
import { asTyped, postGenerated } from '#cli/create/create-object.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import type { Info } from '#cli/resources/info.ts'
import { apiVersionOf } from '#cli/session/resource-types.ts'
import { dryRunOf, dryRunSuffix, withTypedLastApplied } from '#cli/write-options.ts'

export async function autoscale(call: Call): Promise<void> {
  const { flags, host } = call
  const [min, max] = [flags.number('min'), flags.number('max')]
  if (max < 1) throw new CliError(`--max=MAXPODS is required and must be at least 1, max: ${max}`)
  if (max < min) throw new CliError(`--max=MAXPODS must be larger or equal to --min=MINPODS, max: ${max}, min: ${min}`)
  if (flags.number('cpu-percent') > 0 && flags.text('cpu') !== '') throw new CliError('--cpu-percent and --cpu are mutually exclusive')
  const metrics = metricsOf(call)
  const { infos, errors } = await findInfos(call, { latest: false })
  if (infos.length === 0) throw new CliError('no objects passed to autoscale')
  const dryRun = dryRunOf(call)
  const printer = await resultPrinter(call, 'autoscaled', dryRunSuffix(dryRun))
  for (const info of infos) {
    try {
      if (!info.type.subresources.includes('scale')) throw new CliError(`cannot autoscale a ${info.type.kind}: ${noScale(info)}`)
      let object = asTyped(autoscalerOf(call, info, metrics, min, max))
      const { namespace, isNamespaceGiven } = await call.session.context
      if (isNamespaceGiven) object.metadata = { ...object.metadata, namespace }
      if (flags.isOn('save-config')) object = withTypedLastApplied(object)
      if (dryRun !== 'client') object = await postGenerated(call, 'horizontalpodautoscalers', info.namespace, object)
      host.write(printer(object))
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

const noScale = ({ type }: Info): string =>
  `could not find scale subresource for ${apiVersionOf(type).includes('/') ? '' : '/'}${apiVersionOf(type)}, Resource=${type.plural} in discovery information`

function autoscalerOf({ flags }: Call, info: Info, metrics: readonly object[], min: number, max: number): ApiObject {
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: flags.text('name') || info.name },
    spec: {
      scaleTargetRef: { apiVersion: apiVersionOf(info.type), kind: info.type.kind, name: info.name },
      ...defined({ minReplicas: min > 0 ? min : undefined }),
      maxReplicas: max,
      ...omitEmpty({ metrics }),
    },
  }
}

function metricsOf({ flags }: Call): object[] {
  return (['cpu', 'memory'] as const).flatMap((name) => {
    const percent = name === 'cpu' && flags.isSet('cpu-percent') ? `${flags.text('cpu-percent')}%` : ''
    const text = flags.text(name).trim() || percent
    if (text === '') return []
    return [{ type: 'Resource', resource: { name, target: targetOf(name, text) } }]
  })
}

/** `80%` is a part of what is asked for, `500m` an amount. */
function targetOf(name: string, text: string): object {
  if (text.endsWith('%')) {
    const percent = Number(text.slice(0, -1))
    if (!Number.isInteger(percent) || percent < 0 || text === '%') throw new CliError(`invalid percentage value: ${text.slice(0, -1)}`)
    return { type: 'Utilization', averageUtilization: percent }
  }
  if (name === 'cpu' && /^\d+$/.test(text)) return { type: 'Utilization', averageUtilization: Number(text) }
  try {
    return { type: 'AverageValue', averageValue: String(parseQuantity(text)) }
  } catch {
    throw new CliError(`invalid resource ${name} value: ${text}`)
  }
}
