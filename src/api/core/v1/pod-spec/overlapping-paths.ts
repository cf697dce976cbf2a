/** Files of a volume that stand in each other's way. */
import type { V1Volume, V1VolumeProjection } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { trimEndOf } from '#base/trim-end.ts'

/** `source` tells files of a projected volume apart. */
type File = { path: string; source: string }

export function overlappingPathWarnings(volumes: readonly V1Volume[]): string[] {
  const warnings: string[] = []
  const budget = { comparisons: maxComparisons }
  for (const volume of volumes) {
    const { name, configMap, secret, downwardAPI, projected } = volume
    const warn = (kind: string, overlaps: readonly string[]) => {
      for (const overlap of overlaps) warnings.push(`volume ${quoted(name)} (${kind}): overlapping paths: ${overlap}`)
    }
    if (configMap?.items) warn(`ConfigMap ${quoted(configMap.name ?? '')}`, overlaps(filesOf(configMap.items, ''), [], budget))
    if (secret?.items) warn(`Secret ${quoted(secret.secretName ?? '')}`, overlaps(filesOf(secret.items, ''), [], budget))
    if (downwardAPI?.items) warn('DownwardAPI', overlaps(filesOf(downwardAPI.items, ''), [], budget))
    const earlier: File[] = []
    for (const projection of projected?.sources ?? []) {
      const isEmpty = Object.values(projection).every((source) => source === undefined)
      if (isEmpty) warnings.push(`volume ${quoted(name)} (Projected) has no sources provided`)
      else warn('Projected', overlaps(projectedFiles(projection), earlier, budget))
    }
  }
  return warnings
}

const filesOf = (items: readonly { path: string }[], source: string): File[] => items.map(({ path = '' }) => ({ path, source }))

function projectedFiles(projection: V1VolumeProjection): File[] {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = projection
  if (configMap?.items) return filesOf(configMap.items, `ConfigMap ${quoted(configMap.name ?? '')}`)
  if (secret?.items) return filesOf(secret.items, `Secret ${quoted(secret.name ?? '')}`)
  if (downwardAPI?.items) return filesOf(downwardAPI.items, 'DownwardAPI')
  if (serviceAccountToken) return [{ path: serviceAccountToken.path ?? '', source: 'ServiceAccountToken' }]
  if (clusterTrustBundle) {
    const { name, signerName = '', path = '' } = clusterTrustBundle
    return [{ path, source: `ClusterTrustBundle ${quoted(name ?? signerName)}` }]
  }
  if (podCertificate === undefined) return []
  const { certificateChainPath, keyPath, credentialBundlePath } = podCertificate
  const files: File[] = []
  if (certificateChainPath) files.push({ path: certificateChainPath, source: 'PodCertificate chain' })
  if (keyPath) files.push({ path: keyPath, source: 'PodCertificate key' })
  if (credentialBundlePath) files.push({ path: credentialBundlePath, source: 'PodCertificate credential bundle' })
  return files
}

/** Of all volumes together: past so many the list is no pod's, and the rest is not warned of. */
const maxComparisons = 100_000

/** Each file against those before it, to which it is then added: the same path, or one below the other. */
function overlaps(files: readonly File[], earlier: File[], budget: { comparisons: number }): string[] {
  const found: string[] = []
  for (const file of files) {
    budget.comparisons -= earlier.length
    if (budget.comparisons < 0) break
    const trimmed = { ...file, path: trimEndOf(file.path, '/') }
    for (const other of earlier) if (isInTheWay(trimmed.path, other.path)) found.push(`${shown(trimmed)} with ${shown(other)}`)
    earlier.push(trimmed)
  }
  return found
}

function isInTheWay(one: string, other: string): boolean {
  if (one === '' || other === '') return false
  return `${other}/`.startsWith(`${one}/`) || `${one}/`.startsWith(`${other}/`)
}

const shown = ({ path, source }: File): string => (source === '' ? quoted(path) : `${quoted(path)} (${source})`)
