import { type Chapter, linesOf } from './lines.ts'

const request = `apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: 'csr-{ns}'}
spec:
  signerName: example.com/none
  usages: [client auth]
  request: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISU1IQUNBUUF3RGpFTU1Bb0dBMVVFQXd3RFlXNXVNRmt3RXdZSEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFjRApRZ0FFNnpZakwvODVBd2tncHlER0JnNGZjUzJRaklCWFh4RnlncklEWXpFV2Q1dE9JMHNyU1psMys5cmhIS2dRCkd1TGR2b2VQRlR4Y2VwalVSNTdEUkJXdzJhQUFNQW9HQ0NxR1NNNDlCQU1DQTBnQU1FVUNJUUQrSzV3b0FycU8KckFlYUxkVyswRVkwSDRmL01icTdnRHB3Mk40Qi9Va0w3d0lnWnNZcmZ0NmZSMGVnQi95QVJlTkhLZEVLekpCbwowblVvMFhqWWVXTUxtYjA9Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=
`

export const managing: Chapter = {
  name: 'managing the cluster',
  byHand: true,
  lines: [
    { run: 'apply -f -', input: request },
    ...linesOf(`
    get csr csr-{ns}
    certificate approve csr-{ns}
    certificate approve csr-{ns}
    certificate deny csr-{ns}
    certificate approve csr-{ns} --force -o name
    certificate deny nosuch
    certificate foo
    certificate
    delete csr csr-{ns}
    auth reconcile -f {dir}/rbac2.yaml --dry-run=client
    auth can-i --list --as=nobody
    auth can-i --list --no-headers --as=nobody
    auth can-i get pods --as=system:serviceaccount:{ns}:reader
    auth can-i '*' '*'
    auth can-i get pods --subresource=log
    auth can-i create pods --all-namespaces
    auth can-i list pods -A
    taint node sim-node-1 diff=a:NoSchedule --dry-run=server
    taint node sim-node-1 a=b:NoSchedule-
    taint node -l nosuch=x a=b:NoSchedule
    taint node --all a=b:NoSchedule --dry-run=client -o name
    taint node sim-node-1 a=b:NoSchedule a=c:NoSchedule
    taint node sim-node-1 a=b
    taint node nosuch a=b:NoSchedule
    create deployment drained --image=nginx --replicas=1
    run alone --image=nginx
    drain nosuch
    drain
    drain sim-node-1 --dry-run=foo
    drain -l nosuch=x
    drain sim-node-1 --selector=a=b
    top pod
    top node
    top pod nosuch
    top node nosuch
    top pod --sort-by=foo
    top foo
    top
    cluster-info dump --namespaces={ns} -o foo
    events --watch=false
    events -o foo
    events --types=Foo
    events --for=deploy/drained
    events --for=nosuch/x
    events -o name --for=cm/nosuch
    events --no-headers --for=cm/nosuch
    completion bash x
    plugin
    plugin foo
    alpha
    alpha foo
    kuberc
    kuberc view --kuberc={own}/rc
    kuberc set --section=defaults --command=get --option=output=wide --kuberc={own}/rc
    kuberc set --section=aliases --name=getn --command=get --prependarg=nodes --kuberc={own}/rc
    kuberc set --section=foo --command=get --kuberc={own}/rc
    kuberc view --kuberc={own}/rc
    get cm -o kyaml
    get deploy drained -o kyaml
    get pods,cm -o kyaml
    get cm nosuch -o kyaml
    get cs
    get cs -o name
    expose deploy drained --port=80 --protocol=UDP --session-affinity=ClientIP --external-ip=1.2.3.4 --load-balancer-ip=5.6.7.8 --dry-run=client -o yaml
    expose pod alone --port=80 --name=alonesvc
    expose rs -l app=drained --port=80 --name=rsvc --dry-run=client
    create token default --duration=10m --audience=x --bound-object-kind=Pod --bound-object-name=nosuch
    delete pod alone --now --wait=false
    delete deploy drained --cascade=orphan
    delete rs -l app=drained --cascade=foreground --wait=false
    delete all --all --wait=false
    delete cm,secret -l nosuch=x
    delete ns nosuch --wait=false
    delete cm nosuch --force
    delete cm nosuch --grace-period=5 --now
    delete -f {dir}/cm.yaml --ignore-not-found
    delete pods --field-selector=metadata.name=nosuch
    create quota hard --hard=foo
    create job j --image=busybox --from=cronjob/nosuch
    create job j --from=cronjob/nosuch
    create ingress i
    create secret tls t --cert={dir}/nosuch --key={dir}/nosuch
    create secret docker-registry d --docker-server=s --docker-username=u --docker-password=p --docker-email=e -o yaml --dry-run=client
    create serviceaccount reader -o name
    create priorityclass pc --value=1 --dry-run=client -o yaml
    version --client=true
    api-resources --cached
    get --raw /version
    get --raw /nosuch
    get pods --chunk-size=1 -A -o name --no-headers
    get pods -A --sort-by=.metadata.name -o name
    get pods --show-kind --show-labels -L app
    get node sim-node-1 -o jsonpath='{range .status.conditions[*]}{.type}={.status}{"\\n"}{end}'
    get node sim-node-1 -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}'
    get ns default -o custom-columns=N:.metadata.name,P:.status.phase,X:.nosuch
    get ns default -o custom-columns=
    get ns default -o go-template='{{.metadata.name}} {{len .metadata.labels}} {{printf "%s-%d" .kind 3}}'
    get ns default -o go-template='{{.nosuch.deeper}}'
    get ns default -o go-template='{{if'
  `),
  ],
}

export const managed: Readonly<Record<string, string>> = {
  'rbac.yaml': `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: [''], resources: [pods], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}
`,
  'rbac2.yaml': `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, labels: {a: b}}
rules:
- {apiGroups: [''], resources: [pods], verbs: [get, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: User, name: bob, apiGroup: rbac.authorization.k8s.io}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: writers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects:
- {kind: Group, name: dev, apiGroup: rbac.authorization.k8s.io}
`,
}
