import { labelsConflict } from '#controllers/selinux-warning/selinux-label.ts'

/** How a pod uses a volume. */
export type Use = { readonly label: string; readonly policy: string }

/** Two pods that cannot both have the volume on one node. Told to both: each is the first once. */
export type Conflict = {
  readonly property: 'SELinuxLabel' | 'SELinuxChangePolicy'
  readonly pod: string
  readonly value: string
  readonly other: string
  readonly otherValue: string
}

/** Which pods use which volumes, and how. */
export class VolumeLabels {
  readonly #uses = new Map<string, Map<string, Use>>()
  readonly #volumesOf = new Map<string, Set<string>>()

  /** What is new. */
  add(volume: string, pod: string, use: Use): Conflict[] {
    const uses = this.#uses.get(volume) ?? new Map<string, Use>()
    this.#uses.set(volume, uses)
    const before = uses.get(pod)
    if (before?.label === use.label && before.policy === use.policy) return []
    uses.set(pod, use)
    this.#volumesOf.set(pod, (this.#volumesOf.get(pod) ?? new Set()).add(volume))
    return [...uses].filter(([other]) => other !== pod).flatMap(([other, otherUse]) => conflictsOf(pod, use, other, otherUse))
  }

  remove(pod: string): void {
    for (const volume of this.#volumesOf.get(pod) ?? []) {
      const uses = this.#uses.get(volume)
      uses?.delete(pod)
      if (uses?.size === 0) this.#uses.delete(volume)
    }
    this.#volumesOf.delete(pod)
  }

  conflicts(): Conflict[] {
    const found: Conflict[] = []
    for (const uses of this.#uses.values()) {
      const all = [...uses]
      for (const [index, [pod, use]] of all.entries()) {
        for (const [other, otherUse] of all.slice(index + 1)) found.push(...conflictsOf(pod, use, other, otherUse))
      }
    }
    return found
  }
}

function conflictsOf(pod: string, use: Use, other: string, otherUse: Use): Conflict[] {
  const both = (property: Conflict['property'], value: string, otherValue: string): Conflict[] => [
    { property, pod, value, other, otherValue },
    { property, pod: other, value: otherValue, other: pod, otherValue: value },
  ]
  return [
    ...(use.policy === otherUse.policy ? [] : both('SELinuxChangePolicy', use.policy, otherUse.policy)),
    ...(labelsConflict(use.label, otherUse.label) ? both('SELinuxLabel', use.label, otherUse.label) : []),
  ]
}

/** Names of pods in other namespaces are not told. */
export function messageOf({ property, pod, value, other, otherValue }: Conflict): string {
  const end = 'If both pods land on the same node, only one of them may access the volume.'
  const [namespace] = pod.split('/')
  const [otherNamespace, otherName] = other.split('/')
  if (namespace !== otherNamespace) {
    return `${property}"${value}" conflicts with another pod that uses the same volume as this pod with a different ${property}. ${end}`
  }
  return `${property} "${value}" conflicts with pod ${otherName} that uses the same volume as this pod with ${property} "${otherValue}". ${end}`
}
