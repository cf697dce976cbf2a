import { type Chapter, linesOf } from './lines.ts'
import { overlayNames } from './overlays.ts'

export const kustomizing: Chapter = {
  name: 'kustomizations',
  lines: linesOf(`
    kustomize {dir}/base
    kustomize {dir}/overlay
    kustomize {dir}/patched
    kustomize {dir}/with-component
    kustomize {dir}/replacing
    kustomize {dir}/with-vars
    kustomize {dir}/charted
    kustomize {dir}/charted --enable-helm --helm-command {dir}/helm.sh
    kustomize {dir}/nosuch
    kustomize {dir}
    apply -k {dir}/base
    get -k {dir}/base -o name
    36| delete -k {dir}/base
  `),
}

/** These use what the kustomize of older kubectls has not. */
const recent = new Set(['all-images', 'all-suffixed-images', 'all-replaced', 'all-structured', 'with-local'])

export const overlaying: Chapter = {
  name: 'overlays',
  lines: overlayNames.map((name) => ({ run: `kustomize {dir}/${name}`, readsOnly: true, ...(recent.has(name) ? { since: 36 } : {}) })),
}
