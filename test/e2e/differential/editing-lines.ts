import { type Chapter, linesOf } from './lines.ts'

/** Editors that change files by themselves. */
export const editors: Readonly<Record<string, string>> = {
  'editors/change.sh': `#!/bin/sh\nsed -i 's/edited: no/edited: yes/; s/edited": "no"/edited": "yes"/' "$1"\n`,
  'editors/same.sh': '#!/bin/sh\ntrue\n',
  'editors/break.sh': `#!/bin/sh\necho '  : : [' >> "$1"\n`,
  'editors/empty.sh': '#!/bin/sh\n: > "$1"\n',
  'editors/fail.sh': '#!/bin/sh\nexit 3\n',
  'editors/label.sh': `#!/bin/sh\nsed -i 's/^metadata:/metadata:\\n  labels: {x: z}/' "$1"\n`,
  'editors/rename.sh': `#!/bin/sh\nsed -i 's/name: words/name: other/' "$1"\n`,
  'editors/image.sh': `#!/bin/sh\nsed -i 's/image: nginx.*/image: nginx:77/' "$1"\n`,
  'editors/bad-value.sh': `#!/bin/sh\nsed -i 's/replicas: .*/replicas: -4/' "$1"\n`,
}

export const editing: Chapter = {
  name: 'editing',
  byHand: true,
  lines: linesOf(`
    create configmap words --from-literal=edited=no
    create configmap words2 --from-literal=edited=no
    apply -f {dir}/deploy.yaml
    KUBE_EDITOR={dir}/editors/same.sh edit cm words
    KUBE_EDITOR={dir}/editors/change.sh edit cm words
    get cm words -o jsonpath={.data}
    EDITOR={dir}/editors/same.sh edit cm/words
    KUBE_EDITOR={dir}/editors/change.sh edit cm words2 -o json
    get cm words2 -o jsonpath={.data}
    KUBE_EDITOR={dir}/editors/empty.sh edit cm words
    KUBE_EDITOR={dir}/editors/fail.sh edit cm words
    KUBE_EDITOR={dir}/editors/label.sh edit cm words2
    get cm words words2 --show-labels
    KUBE_EDITOR={dir}/editors/rename.sh edit cm words
    KUBE_EDITOR={dir}/editors/image.sh edit deploy app
    KUBE_EDITOR={dir}/editors/image.sh edit deploy app --save-config
    KUBE_EDITOR={dir}/editors/same.sh edit deploy app --output-patch
    KUBE_EDITOR={dir}/editors/same.sh edit deploy/nosuch
    KUBE_EDITOR={dir}/editors/same.sh edit
    KUBE_EDITOR={dir}/editors/same.sh edit cm words -o foo
    KUBE_EDITOR={dir}/editors/same.sh edit deploy app --subresource=nosuch
    KUBE_EDITOR={dir}/editors/nosuch.sh edit cm words
    KUBE_EDITOR={dir}/editors/same.sh apply edit-last-applied deploy/app
    KUBE_EDITOR={dir}/editors/image.sh apply edit-last-applied deploy/app
    apply view-last-applied deploy/app
    apply view-last-applied deploy/app -o json
    apply view-last-applied deploy/app -o foo
    apply view-last-applied -f {dir}/deploy.yaml
    apply view-last-applied
    apply set-last-applied -f {dir}/deploy.yaml
    apply set-last-applied -f {dir}/deploy.yaml --dry-run=client
    apply set-last-applied -f {dir}/cm.yaml
    apply set-last-applied -f {dir}/cm.yaml --create-annotation
    KUBE_EDITOR={dir}/editors/change.sh create -f {dir}/cm.yaml --edit
    diff -f {dir}/deploy.yaml
    delete deploy app
    diff -f {dir}/cm.yaml
    replace --force -f {dir}/deploy.yaml
    replace --raw /api/v1/namespaces/{ns}/configmaps/words -f {dir}/cm.yaml
    create --raw /api/v1/namespaces/{ns}/configmaps -f {dir}/cm.yaml
    delete --raw /api/v1/namespaces/{ns}/configmaps/words2
    get --raw /api/v1/namespaces/{ns}/configmaps/nosuch
  `),
}
