/** Containers do not run as root. */
import {
  type CheckPod,
  containersText,
  hasOwnUsers,
  namesWhere,
  type PodCheck,
  settersText,
  unless,
} from '#apiserver/admission/pod-security/checks/check.ts'

const mustNotBeRoot: CheckPod = (spec) => {
  const reason = 'runAsNonRoot != true'
  const ofPod = spec.securityContext?.runAsNonRoot
  const setters = namesWhere(spec, ({ securityContext }) => securityContext?.runAsNonRoot === false)
  if (ofPod === false || setters.length > 0) {
    return { reason, detail: `${settersText(ofPod === false, setters)} must not set securityContext.runAsNonRoot=false` }
  }
  const silent = ofPod ? [] : namesWhere(spec, ({ securityContext }) => securityContext?.runAsNonRoot === undefined)
  if (silent.length === 0) return undefined
  return { reason, detail: `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true` }
}

export const runAsNonRoot: PodCheck = {
  id: 'runAsNonRoot',
  level: 'restricted',
  versions: [
    { since: 0, check: mustNotBeRoot },
    { since: 35, check: unless(hasOwnUsers, mustNotBeRoot) },
  ],
}

const mustNotBeUserZero: CheckPod = (spec) => {
  const isPod = spec.securityContext?.runAsUser === 0
  const names = namesWhere(spec, ({ securityContext }) => securityContext?.runAsUser === 0)
  if (!isPod && names.length === 0) return undefined
  return { reason: 'runAsUser=0', detail: `${settersText(isPod, names)} must not set runAsUser=0` }
}

export const runAsUser: PodCheck = {
  id: 'runAsUser',
  level: 'restricted',
  versions: [
    { since: 23, check: mustNotBeUserZero },
    { since: 35, check: unless(hasOwnUsers, mustNotBeUserZero) },
  ],
}
