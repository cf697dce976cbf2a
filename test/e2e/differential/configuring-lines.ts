import { type Chapter, linesOf } from './lines.ts'

const view = 'KUBECONFIG={own}/config config view --raw'

/** Files of users, which no server sees. */
export const configuring: Chapter = {
  name: 'kubeconfigs',
  byHand: true,
  lines: linesOf(`
    KUBECONFIG={own}/config config set-cluster one --server=https://1.2.3.4:6443
    ${view}
    KUBECONFIG={own}/config config set-cluster one --insecure-skip-tls-verify=true --tls-server-name=x --proxy-url=http://p:1
    KUBECONFIG={own}/config config set-cluster two --server=https://5.6.7.8 --certificate-authority={dir}/cm.yaml
    KUBECONFIG={own}/config config set-cluster three --certificate-authority={dir}/cm.yaml --embed-certs
    KUBECONFIG={own}/config config set-cluster four --insecure-skip-tls-verify=true --certificate-authority={dir}/cm.yaml
    KUBECONFIG={own}/config config set-cluster
    KUBECONFIG={own}/config config set-cluster a b
    ${view}
    KUBECONFIG={own}/config config set-credentials me --token=abc
    KUBECONFIG={own}/config config set-credentials me --username=u --password=p
    KUBECONFIG={own}/config config set-credentials you --username=u --password=p
    KUBECONFIG={own}/config config set-credentials you --token=abc --username=v
    KUBECONFIG={own}/config config set-credentials cert --client-certificate={dir}/cm.yaml --client-key={dir}/cm2.yaml
    KUBECONFIG={own}/config config set-credentials cert2 --client-certificate={dir}/cm.yaml --client-key={dir}/cm2.yaml --embed-certs=true
    KUBECONFIG={own}/config config set-credentials exec --exec-command=/bin/x --exec-api-version=client.authentication.k8s.io/v1 --exec-arg=a --exec-arg=b --exec-env=A=b --exec-env=C=d
    KUBECONFIG={own}/config config set-credentials exec --exec-env=A- --exec-arg=z
    KUBECONFIG={own}/config config set-credentials exec3 --exec-interactive-mode=Never --exec-provide-cluster-info=true --exec-command=x --exec-api-version=client.authentication.k8s.io/v1beta1 --exec-install-hint=hint
    KUBECONFIG={own}/config config set-credentials oidc --auth-provider=oidc --auth-provider-arg=client-id=foo --auth-provider-arg=client-secret=bar
    KUBECONFIG={own}/config config set-credentials oidc --auth-provider-arg=client-secret-
    KUBECONFIG={own}/config config set-credentials
    ${view}
    KUBECONFIG={own}/config config view
    KUBECONFIG={own}/config config set-context c1 --cluster=one --user=me --namespace=n
    KUBECONFIG={own}/config config set-context c1 --namespace=m
    KUBECONFIG={own}/config config set-context c2 --cluster=two
    KUBECONFIG={own}/config config set-context --current --namespace=q
    KUBECONFIG={own}/config config use-context c1
    KUBECONFIG={own}/config config set-context --current --namespace=q
    KUBECONFIG={own}/config config set-context c1 --current
    KUBECONFIG={own}/config config use-context nosuch
    KUBECONFIG={own}/config config use-context
    KUBECONFIG={own}/config config current-context
    KUBECONFIG={own}/config config get-contexts
    KUBECONFIG={own}/config config get-contexts c2
    KUBECONFIG={own}/config config get-contexts c2 nosuch
    KUBECONFIG={own}/config config get-contexts --no-headers
    KUBECONFIG={own}/config config get-contexts -o name
    KUBECONFIG={own}/config config get-users
    KUBECONFIG={own}/config config view --minify
    KUBECONFIG={own}/config config view --minify --context=c2
    KUBECONFIG={own}/config config view --minify --context=nosuch
    KUBECONFIG={own}/config config view --flatten
    KUBECONFIG={own}/config config view --flatten --minify --context=c2
    KUBECONFIG={own}/config config view --raw -o json
    KUBECONFIG={own}/config config view -o jsonpath={.users[*].name}
    KUBECONFIG={own}/config config view -o go-template='{{range .contexts}}{{.name}}{{"\\n"}}{{end}}'
    KUBECONFIG={own}/config config view -o foo
    KUBECONFIG={own}/config config rename-context c2 c3
    KUBECONFIG={own}/config config rename-context nosuch c3
    KUBECONFIG={own}/config config rename-context c3 c1
    KUBECONFIG={own}/config config rename-context c1 c9
    KUBECONFIG={own}/config config rename-context c1
    KUBECONFIG={own}/config config current-context
    KUBECONFIG={own}/config config set contexts.c9.namespace zz
    KUBECONFIG={own}/config config set clusters.one.server https://9.9.9.9
    KUBECONFIG={own}/config config set clusters.one.insecure-skip-tls-verify false
    KUBECONFIG={own}/config config set clusters.one.insecure-skip-tls-verify maybe
    KUBECONFIG={own}/config config set clusters.new.server http://n
    KUBECONFIG={own}/config config set users.me.client-key-data abc --set-raw-bytes=true
    KUBECONFIG={own}/config config set users.me.client-key-data YWJj
    KUBECONFIG={own}/config config set current-context c3
    KUBECONFIG={own}/config config set foo.bar x
    KUBECONFIG={own}/config config set clusters
    KUBECONFIG={own}/config config set preferences.colors true
    KUBECONFIG={own}/config config unset contexts.c9.namespace
    KUBECONFIG={own}/config config unset users.you
    KUBECONFIG={own}/config config unset current-context
    KUBECONFIG={own}/config config unset foo.bar
    KUBECONFIG={own}/config config unset users.nosuch.token
    KUBECONFIG={own}/config config unset
    KUBECONFIG={own}/config config current-context
    ${view}
    KUBECONFIG={own}/config config delete-context c3
    KUBECONFIG={own}/config config delete-context nosuch
    KUBECONFIG={own}/config config delete-context
    KUBECONFIG={own}/config config delete-cluster two
    KUBECONFIG={own}/config config delete-cluster nosuch
    KUBECONFIG={own}/config config delete-user exec
    KUBECONFIG={own}/config config delete-user nosuch
    KUBECONFIG={own}/config config use-context c9
    KUBECONFIG={own}/config config delete-context c9
    ${view}
    KUBECONFIG={own}/second:{own}/config config set-context other --cluster=one
    KUBECONFIG={own}/second:{own}/config config use-context other
    KUBECONFIG={own}/second:{own}/config config get-contexts
    KUBECONFIG={own}/second:{own}/config config view --merge
    KUBECONFIG={own}/second:{own}/config config view --merge=false
    ${view}
    config set-context inflag --kubeconfig={own}/third --cluster=a
    config view --kubeconfig={own}/third
    config view --kubeconfig={own}/nosuch
    config use-context inflag --kubeconfig={own}/third
    config
    config foo
  `),
}
