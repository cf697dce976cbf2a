import type { V1PodTemplateSpec, V1Toleration, V1TopologySpreadConstraint } from '#api/core/v1/types.gen.ts'
import { labelSelectorText } from '#api/meta/selector.ts'
import { describeContainers } from './containers.ts'
import { Description } from './description.ts'
import { describeVolumes } from './volumes.ts'

/** By itself, as histories show it. */
export function describePodTemplate(template: V1PodTemplateSpec, options: { isAligned?: boolean } = {}): string {
  const out = new Description(0, options)
  writePodTemplate(out, template)
  return out.text()
}

export function writePodTemplate(out: Description, template: V1PodTemplateSpec | undefined): void {
  out.write(0, 'Pod Template:\n')
  if (template === undefined) {
    out.write(1, '<unset>')
    return
  }
  const { metadata, spec } = template
  out.labels('  Labels', metadata?.labels)
  if (Object.keys(metadata?.annotations ?? {}).length > 0) out.annotations('  Annotations', metadata?.annotations)
  out.optional(1, 'Service Account', spec?.serviceAccountName)
  if ((spec?.initContainers ?? []).length > 0)
    describeContainers(out, { title: 'Init Containers', containers: spec?.initContainers ?? [], space: '  ' })
  describeContainers(out, { title: 'Containers', containers: spec?.containers ?? [], space: '  ' })
  describeVolumes(out, spec?.volumes ?? [], '  ')
  describeSpread(out, spec?.topologySpreadConstraints ?? [], '  ')
  out.optional(1, 'Priority Class Name', spec?.priorityClassName)
  out.labels('  Node-Selectors', spec?.nodeSelector)
  describeTolerations(out, '  Tolerations', spec?.tolerations ?? [])
}

export function describeTolerations(out: Description, title: string, tolerations: readonly V1Toleration[]): void {
  if (tolerations.length === 0) {
    out.write(0, `${title}:\t<none>\n`)
    return
  }
  const sorted = [...tolerations].sort((one, other) =>
    (one.key ?? '') < (other.key ?? '') ? -1 : (one.key ?? '') > (other.key ?? '') ? 1 : 0,
  )
  for (const [index, { key = '', value, effect, operator, tolerationSeconds }] of sorted.entries()) {
    let text = key
    if (value) text += `=${value}`
    if (effect) text += `:${effect}`
    if (operator === 'Exists' && !value) text += key !== '' || effect ? ' op=Exists' : 'op=Exists'
    if (tolerationSeconds !== undefined) text += ` for ${tolerationSeconds}s`
    out.write(0, `${index === 0 ? `${title}:` : ''}\t${text}\n`)
  }
}

export function describeSpread(out: Description, constraints: readonly V1TopologySpreadConstraint[], space = ''): void {
  const sorted = [...constraints].sort((one, other) => (one.topologyKey < other.topologyKey ? -1 : 1))
  for (const [index, { topologyKey, whenUnsatisfiable, maxSkew, labelSelector }] of sorted.entries()) {
    const selector = labelSelector === undefined ? '' : ` for selector ${labelSelectorText(labelSelector)}`
    out.write(
      0,
      `${space}${index === 0 ? 'Topology Spread Constraints:' : ''}\t${topologyKey}:${whenUnsatisfiable} when max skew ${maxSkew} is exceeded${selector}\n`,
    )
  }
}
